"""A changed state of a run is sent at once, whatever else the gateway is busy with."""

import asyncio
from typing import Any, cast

import pytest

from mosaic_contracts.live import SUBPROTOCOL_MSGPACK
from mosaic_contracts.problems import ProblemError
from mosaic_contracts.runs import RunRecord, RunSummary, RunView
from mosaic_gateway.errors import store_unavailable
from mosaic_gateway.live.client import LiveClient
from mosaic_gateway.live.hub import SUMMARY_S, Hub
from mosaic_gateway.live.wire_format import FORMATS
from mosaic_gateway.runs.rate import RateTracker
from mosaic_gateway.runs.service import Runs
from mosaic_store.testing import RUN_ID, message

OTHER = "01JGXSYNTHET1CRVN000000001"


class Store:
    """The runs service over a store that answers when the test lets it."""

    def __init__(self) -> None:
        self.answers = asyncio.Event()
        self.error: ProblemError | None = None
        self._merge = Runs(cast("Any", None), cast("Any", None), RateTracker(), cast("Any", None))

    async def completed(self, records: list[RunRecord]) -> list[RunView]:
        """With summaries, once the store answers."""
        await self.answers.wait()
        if self.error is not None:
            raise self.error
        summary = RunSummary(run_id=RUN_ID, episodes=7)
        return [self.view(record, summary) for record in records]

    def view(self, record: RunRecord, summary: RunSummary | None) -> RunView:
        """Record and summary as one."""
        return self._merge.view(record, summary)


class Listener:
    """A client that follows the list."""

    wire = FORMATS[SUBPROTOCOL_MSGPACK]

    def __init__(self) -> None:
        self.told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def follows(self, _record: RunRecord) -> bool:
        """It follows all runs."""
        return True

    def run_changed(self, _run_id: str, payload: bytes) -> None:
        """A `run` frame."""
        frame = self.wire.read(payload)
        self.told.put_nowait(frame["run"])

    async def next(self, within_s: float) -> dict[str, Any]:
        """The next run that is sent."""
        async with asyncio.timeout(within_s):
            return await self.told.get()


@pytest.fixture
def store() -> Store:
    """One that does not answer yet."""
    return Store()


@pytest.fixture
def hub(store: Store) -> Hub:
    """A hub without a broker."""
    none = cast("Any", None)
    return Hub(none, none, cast("Runs", store), none, RateTracker())


async def telling(hub: Hub) -> tuple[Listener, list[asyncio.Task[None]]]:
    """Start both lanes with one client."""
    listener = Listener()
    hub._clients._clients.add(cast("LiveClient", listener))
    return listener, [
        asyncio.create_task(lane()) for lane in (hub._tell_states, hub._tell_progress)
    ]


async def ended(tasks: list[asyncio.Task[None]]) -> None:
    """Stop the lanes."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_slow_store_does_not_hold_back_a_state(hub: Hub, store: Store, record: Any) -> None:
    """While the store does not answer a state is sent without its summary, and again with it once the store answers."""
    listener, tasks = await telling(hub)
    hub._see(record(RUN_ID, "succeeded", 2))
    first = await listener.next(SUMMARY_S + 0.8)
    assert (first["state"], first["summary"]) == ("succeeded", None)
    store.answers.set()
    second = await listener.next(2)
    assert (second["state"], second["summary"]["episodes"]) == ("succeeded", 7)
    await ended(tasks)


async def test_progress_that_waits_for_the_store_does_not_hold_back_a_state(
    hub: Hub, store: Store, record: Any
) -> None:
    """The state passes progress that is being read, and older progress of that run is not sent after it."""
    listener, tasks = await telling(hub)
    hub._see(record(RUN_ID, "running", 1))
    assert (await listener.next(SUMMARY_S + 0.8))["state"] == "running"
    hub._mark(record(OTHER, "running", 1), is_new=False)
    hub._mark(record(RUN_ID, "running", 1), is_new=False)
    await asyncio.sleep(0.7)  # progress is told half a second after the last frame at the earliest
    hub._see(record(RUN_ID, "failed", 2))
    assert (await listener.next(SUMMARY_S + 0.8))["state"] == "failed"
    store.answers.set()
    rest = [await listener.next(2) for _ in range(2)]
    assert {(run["run_id"], run["state"]) for run in rest} == {
        (OTHER, "running"),
        (RUN_ID, "failed"),
    }
    await ended(tasks)


async def test_the_last_summary_stays_while_the_store_cannot_be_read(
    hub: Hub, store: Store, record: Any
) -> None:
    """A broken or slow store does not take away the figures that were sent before."""
    listener, tasks = await telling(hub)
    store.answers.set()
    hub._see(record(RUN_ID, "running", 1))
    assert (await listener.next(2))["summary"]["episodes"] == 7
    store.error = store_unavailable("broken.")
    hub._see(record(RUN_ID, "stopping", 2))
    told = await listener.next(2)
    assert (told["state"], told["summary"]["episodes"]) == ("stopping", 7)
    await ended(tasks)


@pytest.mark.broker
async def test_a_client_is_told_how_far_the_run_is_without_its_events(
    gateway: Any, peers: Any, record: Any, frames: Any
) -> None:
    """A client that wants none of what happens gets an empty `events` frame with the cursor, once for many ticks."""
    peers.records[RUN_ID] = record(RUN_ID)
    async with gateway.live() as socket:
        frame = (
            f'{{"op": "subscribe", "run_id": "{RUN_ID}", "cursor": "", "types": ["checkpoint"]}}'
        )
        await socket.send(frame)
        while (await frames(socket))["op"] != "snapshot":
            pass
        for first in range(1, 401, 20):
            await peers.publish(message(first, first + 19))
            await asyncio.sleep(0.02)
        got: list[dict[str, Any]] = []
        while not got or got[-1]["cursor"] != "1.worker.400":
            got += [one for one in [await frames(socket)] if one["op"] == "events"]
        assert all(one["events"] == [] for one in got)
        assert len(got) <= 3
