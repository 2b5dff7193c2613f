"""The client's operations on a real stack, for what stands behind them no double can promise."""

from collections.abc import Iterator

import httpx
import pytest
from stack_under_test import StackUnderTest

from mosaic_client import (
    AsyncClient,
    Client,
    IdempotencyConflict,
    RequestRefused,
    RunLive,
    RunNotQueued,
    RunUnknown,
    SecretUnknown,
    SpecRefused,
)
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.states import RunState

SPEC = RunSpec(worker="synthetic", algorithm="synthetic", environment="Synthetic-v0", steps=2_000)
HELD = SPEC.model_copy(update={"hold": True})


@pytest.fixture
def client(stack: StackUnderTest) -> Iterator[Client]:
    """A client of a stack whose queue is empty again afterwards."""
    stack.wait_ready()
    with stack.client() as client:
        yield client
        for run in client.queue():
            client.stop(run.run_id)


class LosesAnAnswer(httpx.HTTPTransport):
    """A network that breaks once, after the stack has taken a submit and before its answer arrives."""

    lost = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        if request.method == "POST" and not self.lost:
            self.lost += 1
            response.close()
            raise httpx.ReadError("connection reset", request=request)
        return response


def test_a_lost_answer_to_a_submit_starts_one_run(client: Client) -> None:
    """The client asks again by its key and gets the run that was made; there is no second one."""
    network = LosesAnAnswer()
    with Client(client.location, transport=network) as unlucky:
        run = unlucky.submit(HELD)
    assert network.lost == 1
    assert [waiting.run_id for waiting in client.queue()] == [run.run_id]


def test_a_key_of_ones_own_gives_the_same_run(client: Client) -> None:
    """The same key and spec again are the same run; with another spec the key is refused."""
    first = client.submit(HELD, idempotency_key="mine")
    assert client.submit(HELD, idempotency_key="mine").run_id == first.run_id
    with pytest.raises(IdempotencyConflict):
        client.submit(HELD.model_copy(update={"seed": 7}), idempotency_key="mine")


def test_the_queue_is_moved_held_and_released(client: Client) -> None:
    """A waiting run goes where it is put, and starts once it is released."""
    first, second = client.submit(HELD), client.submit(HELD)
    client.move(second.run_id, before=first.run_id)
    assert [run.run_id for run in client.queue()] == [second.run_id, first.run_id]
    client.move(first.run_id, priority=5)
    assert [run.run_id for run in client.queue()] == [first.run_id, second.run_id]
    with pytest.raises(RunLive):
        client.delete(first.run_id)
    client.move(first.run_id, hold=False)
    assert client.wait(first.run_id, timeout_s=60).state is RunState.SUCCEEDED
    with pytest.raises(RunNotQueued):
        client.move(first.run_id, hold=True)
    assert client.stop(first.run_id).state is RunState.SUCCEEDED


def test_a_run_is_repeated_changed_put_away_and_restored(client: Client) -> None:
    """Retry and clone name their parent; a patch stays; a deleted run comes back or is gone for good."""
    run = client.wait(client.submit(SPEC).run_id, timeout_s=60)
    assert client.wait(client.retry(run.run_id).run_id, timeout_s=60).spec.parent == run.run_id
    assert client.clone(run.run_id, seed=9, hold=True).spec.seed == 9
    with pytest.raises(SpecRefused, match="seed"):
        client.clone(run.run_id, sed=9)
    client.patch(run.run_id, note="my words", tags=["keep"])
    assert [found.note for found in client.each_run(tag="keep")] == ["my words"]
    client.delete(run.run_id)
    assert not client.runs(tag="keep").runs
    assert client.runs(tag="keep", deleted=True).runs
    assert client.restore(run.run_id).deleted_at is None


@pytest.mark.nightly
def test_a_list_is_sorted_across_pages(client: Client) -> None:
    """Pages of two put together are the whole list in its order, and an unknown order is refused in words."""
    for steps in (300, 2_000, 700):
        client.wait(client.submit(SPEC.model_copy(update={"steps": steps})).run_id, timeout_s=60)
    runs = list(client.each_run(page=2, sort="steps", order="asc", state=["succeeded"]))
    done = [run.step for run in runs]
    assert len(runs) >= 3
    assert done == sorted(done)
    with pytest.raises(RequestRefused, match="mean_return"):
        client.runs(sort="length")  # type: ignore[arg-type]


def test_secrets_tickets_machine_and_preflight(client: Client) -> None:
    """A secret is named and never shown, a ticket opens its one path without a token, the rest answers."""
    client.set_secret("API_KEY", "hidden")
    assert [entry.name for entry in client.secrets()] == ["API_KEY"]
    client.delete_secret("API_KEY")
    with pytest.raises(SecretUnknown):
        client.delete_secret("API_KEY")
    ticket = client.ticket("/stack", ttl_s=60)
    assert httpx.get(client.location.url + ticket.url).json()["ready"] is True
    assert client.machine(last=1).samples[-1].cores >= 1
    assert client.preflight(SPEC).ok
    assert "mosaic_gateway" in client.prometheus()


async def test_every_event_comes_live_and_the_tables_have_them(client: Client) -> None:
    """From an event loop: what came live is what is stored, and metrics and episodes are whole tables."""
    async with AsyncClient(client.location) as stack:
        run = await stack.submit(SPEC)
        seen = [event["seq"] async for event in stack.live_events(run.run_id, ["*"])]
        run = await stack.wait(run.run_id, timeout_s=60)
        assert run.summary is not None
        assert len(seen) == run.summary.events
        assert len(await stack.episode_table(run.run_id)) == run.summary.episodes > 0
        names = [metric.name for metric in await stack.metrics(run.run_id)]
        points = [len(await stack.series(run.run_id, name)) for name in names]
        assert len(await stack.metric_table(run.run_id)) == sum(points) > 0
        with pytest.raises(RunUnknown):
            await stack.wait("01ARZ3NDEKTSV4RRFFQ69G5FAV", timeout_s=10)
