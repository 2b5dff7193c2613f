"""Following a run, against a real WebSocket server that breaks, repeats and leaves out as a bad day would."""

import http
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve
from websockets.typing import Subprotocol

from mosaic_client import (
    AsyncClient,
    Client,
    ConnectionLost,
    LiveItem,
    Location,
    MosaicProblem,
    StackUnreachable,
    WaitTimedOut,
)
from mosaic_client.live import FollowState
from mosaic_contracts.live import SUBPROTOCOL_JSON, Ended, Events, RunChanged
from mosaic_contracts.runs import EventPage

RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
Script = Callable[[ServerConnection, dict[str, Any]], None]


def event(seq: int) -> dict[str, Any]:
    return {"attempt": 1, "source": "worker", "seq": seq, "type": "metric", "value": "NaN"}


def events(first: int, last: int) -> str:
    return json.dumps(
        {
            "op": "events",
            "run_id": RUN_ID,
            "events": [event(seq) for seq in range(first, last + 1)],
            "cursor": f"1.worker.{last}",
        }
    )


def missed(first: int, last: int) -> str:
    frame = {"op": "missed", "run_id": RUN_ID, "count": last - first + 1}
    return json.dumps(
        frame | {"from_cursor": f"1.worker.{first - 1}", "to_cursor": f"1.worker.{last}"}
    )


def ended(last: int) -> str:
    return json.dumps({"op": "end", "run_id": RUN_ID, "cursor": f"1.worker.{last}"})


@contextmanager
def gateway(
    *scripts: Script, status: int | None = None
) -> Iterator[tuple[Location, list[dict[str, Any]]]]:
    """A server that plays one script a connection; yields where it is and the subscriptions it got."""
    subscriptions: list[dict[str, Any]] = []
    pending = iter(scripts)

    def handle(socket: ServerConnection) -> None:
        socket.send(json.dumps({"op": "hello", "version": "0"}))
        subscription = json.loads(socket.recv(timeout=60))
        subscriptions.append(subscription)
        next(pending)(socket, subscription)

    def refuse(socket: ServerConnection, request: Request) -> Response | None:
        assert request.headers["Authorization"] == "Bearer secret"
        return socket.respond(http.HTTPStatus(status), "no") if status else None

    with serve(
        handle,
        "127.0.0.1",
        0,
        subprotocols=[Subprotocol(SUBPROTOCOL_JSON)],
        process_request=refuse,
    ) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        port = server.socket.getsockname()[1]
        try:
            yield Location(f"http://127.0.0.1:{port}", "secret"), subscriptions
        finally:
            server.shutdown()
            thread.join(60)


def seqs(items: list[LiveItem]) -> list[int]:
    return [e["seq"] for item in items if isinstance(item, Events) for e in item.events]


def breaks_at_3(socket: ServerConnection, subscription: dict[str, Any]) -> None:
    socket.send(events(1, 3))
    socket.socket.close()  # no closing handshake, as after a kill -9


def goes_on_with_doubles(socket: ServerConnection, subscription: dict[str, Any]) -> None:
    socket.send(json.dumps({"op": "news_of_a_newer_gateway"}))
    socket.send(events(2, 5))
    socket.send(events(6, 7))
    socket.send(ended(7))


def test_a_lost_connection_resumes_without_gap_or_double() -> None:
    """After a connection dies the next one starts at the cursor, and what is sent twice is given once."""
    with gateway(breaks_at_3, goes_on_with_doubles) as (location, subscriptions):
        items = list(Client(location).follow(RUN_ID))
    assert seqs(items) == [1, 2, 3, 4, 5, 6, 7]
    assert [s["cursor"] for s in subscriptions] == ["", "1.worker.3"]
    assert sum(isinstance(item, ConnectionLost) for item in items) == 1
    assert isinstance(items[-1], Ended)


async def test_the_async_client_resumes_too() -> None:
    """The awaited iteration has the same guarantee."""
    with gateway(breaks_at_3, goes_on_with_doubles) as (location, subscriptions):
        async with AsyncClient(location) as mosaic:
            items = [item async for item in mosaic.follow(RUN_ID)]
    assert seqs(items) == [1, 2, 3, 4, 5, 6, 7]
    assert [s["cursor"] for s in subscriptions] == ["", "1.worker.3"]


def leaves_out(socket: ServerConnection, subscription: dict[str, Any]) -> None:
    socket.send(events(1, 2))
    socket.send(missed(3, 6))
    socket.send(events(7, 8))
    socket.send(ended(8))


class Store:
    """Answers `events` as the store would, two a page, and has not caught up at the first question."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def page(self, cursor: str) -> EventPage:
        self.asked.append(cursor)
        start = int(cursor.rpartition(".")[2])
        until = min(start + 2, 6) if len(self.asked) > 1 else start
        return EventPage(
            events=[event(seq) for seq in range(start + 1, until + 1)],
            cursor=f"1.worker.{until}",
            has_more=start < until < 6,
        )


def test_what_was_missed_comes_from_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow reader gets the events that the gateway left out, in their place and once."""
    store = Store()
    with gateway(leaves_out) as (location, _):
        mosaic = Client(location)
        monkeypatch.setattr(
            mosaic, "events", lambda _run, cursor, _limit, _types: store.page(cursor)
        )
        items = list(mosaic.follow(RUN_ID))
    assert seqs(items) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert store.asked == ["1.worker.2", "1.worker.2", "1.worker.4"]


async def test_what_was_missed_comes_from_the_store_awaited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The awaited iteration fills in the same way."""
    store = Store()

    async def page(_run: str, cursor: str, _limit: int, _types: list[str] | None) -> EventPage:
        return store.page(cursor)

    with gateway(leaves_out) as (location, _):
        async with AsyncClient(location) as mosaic:
            monkeypatch.setattr(mosaic, "events", page)
            items = [item async for item in mosaic.follow(RUN_ID)]
    assert seqs(items) == [1, 2, 3, 4, 5, 6, 7, 8]


def busy(socket: ServerConnection, subscription: dict[str, Any]) -> None:
    problem = {"code": "broker_unavailable", "title": "The broker is away"}
    socket.send(json.dumps({"op": "problem", "problem": problem}))
    socket.recv(timeout=60)


def unknown(socket: ServerConnection, subscription: dict[str, Any]) -> None:
    problem = {"code": "run_unknown", "title": "There is no such run"}
    socket.send(json.dumps({"op": "problem", "problem": problem, "run_id": RUN_ID}))
    socket.recv(timeout=60)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_stack_that_cannot_now_is_asked_again_and_one_that_refuses_is_not() -> None:
    """A broker that is away passes; a run that does not exist is an error at once."""
    with gateway(busy, unknown) as (location, subscriptions):
        items: list[LiveItem] = []
        with pytest.raises(MosaicProblem, match="no such run"):
            items.extend(Client(location).follow(RUN_ID))
    assert len(subscriptions) == 2


def test_a_wrong_token_is_not_tried_again() -> None:
    """A handshake that is refused with 401 is a problem with that code."""
    with gateway(status=401) as (location, _), pytest.raises(MosaicProblem) as caught:
        list(Client(location).follow(RUN_ID))
    assert caught.value.problem.code == "unauthorized"


def test_patience_has_an_end() -> None:
    """A stack that does not come back is unreachable once the time is used up, not for ever."""
    with gateway() as (location, _):
        pass
    with pytest.raises(StackUnreachable, match="mosaic up -d"):
        list(Client(location).follow(RUN_ID, patience_s=0.3))


def test_from_now_begins_at_the_snapshot() -> None:
    """Without a cursor the joint is where it begins, also for the connection after the next loss."""
    follower = FollowState(run_id=RUN_ID, cursor=None, types=None)
    run = {"name": "a", "state": "running", "revision": 1, "created_at": "2026-01-01T00:00:00Z"}
    spec = {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1"}
    run |= {"run_id": RUN_ID, "run_dir": "r", "spec": spec}
    follower.take(json.dumps({"op": "snapshot", "run": run, "cursor": "1.worker.9"}))
    assert json.loads(follower.subscription())["cursor"] == "1.worker.9"
    assert follower.take(events(8, 9)) is None


def quiet(socket: ServerConnection, subscription: dict[str, Any]) -> None:
    socket.send(events(1, 3))
    for _ in socket:  # until the client hangs up
        pass


def answers_a_run(_: httpx.Request) -> httpx.Response:
    spec = {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1"}
    run = {"run_id": RUN_ID, "name": "a", "spec": spec, "state": "succeeded", "revision": 9}
    return httpx.Response(
        200, json=run | {"created_at": "2026-01-01T00:00:00Z", "run_dir": f"runs/{RUN_ID}"}
    )


async def test_live_events_are_events_and_nothing_else() -> None:
    """Both clients give the bare events across a lost connection, each once."""
    with gateway(*(breaks_at_3, goes_on_with_doubles) * 2) as (location, _):
        found = [event["seq"] for event in Client(location).live_events(RUN_ID, ["metric"])]
        async with AsyncClient(location) as mosaic:
            awaited = [event["seq"] async for event in mosaic.live_events(RUN_ID, ["metric"])]
    assert found == awaited == [1, 2, 3, 4, 5, 6, 7]


async def test_wait_ends_with_the_run() -> None:
    """Waiting survives a lost connection, asks for few events, and gives the run as it ended."""
    transport = httpx.MockTransport(answers_a_run)
    with gateway(*(breaks_at_3, goes_on_with_doubles) * 2) as (location, subscriptions):
        run = Client(location, transport=transport).wait(RUN_ID, timeout_s=20)
        async with AsyncClient(location, transport=transport) as mosaic:
            assert await mosaic.wait(RUN_ID, timeout_s=20) == run
    assert run.state.is_final
    assert subscriptions[0] | {"op": ""} == {
        "op": "",
        "run_id": RUN_ID,
        "cursor": None,
        "types": ["lifecycle"],
    }


@pytest.mark.parametrize("script", [quiet, busy])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_wait_has_the_end_that_was_asked_for(script: Script) -> None:
    """A run that goes on, or a stack that cannot now, ends the wait in time with an error that says what to do."""
    with gateway(*[script] * 20) as (location, _):
        began = time.monotonic()
        with pytest.raises(WaitTimedOut, match="continues"):
            Client(location).wait(RUN_ID, timeout_s=0.4)
        async with AsyncClient(location) as mosaic:
            with pytest.raises(WaitTimedOut):
                await mosaic.wait(RUN_ID, timeout_s=0.4)
        assert 0.8 <= time.monotonic() - began < 60


def state(revision: int, elapsed_s: float, name: str = "running") -> str:
    spec = {"worker": "w", "algorithm": "a", "environment": "e"}
    run = {"run_id": RUN_ID, "name": "n", "spec": spec, "state": name, "revision": revision}
    more = {"created_at": "2030-01-01T00:00:00Z", "run_dir": "runs/x", "elapsed_s": elapsed_s}
    return json.dumps({"op": "run", "run": run | more})


class Flood:
    """More events than the reader takes in time, with the run's end behind them and on a connection for states."""

    FRAMES = 150

    def __init__(self) -> None:
        self.is_over = threading.Event()

    def all(self, socket: ServerConnection, subscription: dict[str, Any]) -> None:
        for n in range(self.FRAMES):
            socket.send(events(n + 1, n + 1))
        socket.send(state(3, 7.0))
        socket.send(state(4, 9.0, "succeeded"))
        socket.send(ended(self.FRAMES))
        self.is_over.wait(60)

    def states(self, socket: ServerConnection, subscription: dict[str, Any]) -> None:
        socket.send(state(3, 8.0))
        socket.send(state(4, 9.0, "succeeded"))
        self.is_over.wait(60)


def check_flood(items: list[LiveItem], subscriptions: list[dict[str, Any]]) -> None:
    """All events in order; the final state long before their end, and no older one after it."""
    assert seqs(items) == list(range(1, Flood.FRAMES + 1))
    states = [item.run.state.value for item in items if isinstance(item, RunChanged)]
    assert states in (["succeeded"] * 2, ["running", "succeeded", "succeeded"])
    first = next(n for n, item in enumerate(items) if isinstance(item, RunChanged))
    assert first < Flood.FRAMES * 0.8
    assert [(one["cursor"], one["types"]) for one in subscriptions] == [
        ("", None),
        (None, ["lifecycle"]),
    ]


def test_a_state_is_known_while_events_wait() -> None:
    """A client that reads events slowly gets the run's state by a connection of its own."""
    flood = Flood()
    with gateway(flood.all, flood.states) as (location, subscriptions):
        items = []
        for item in Client(location).follow(RUN_ID):
            items.append(item)
            time.sleep(0.01)  # the reader's own work
        flood.is_over.set()
    check_flood(items, subscriptions)


async def test_a_state_is_known_while_events_wait_in_a_loop() -> None:
    """The awaited iteration does the same, also where the reader's work blocks the loop."""
    flood = Flood()
    with gateway(flood.all, flood.states) as (location, subscriptions):
        items = []
        async with AsyncClient(location) as mosaic:
            async for item in mosaic.follow(RUN_ID):
                items.append(item)
                time.sleep(0.01)  # noqa: ASYNC251 - the reader's own work, which blocks
        flood.is_over.set()
    check_flood(items, subscriptions)


def test_an_older_state_is_left_out() -> None:
    """States are ordered by revision, and within one by the age that the stack reports."""
    follower = FollowState(RUN_ID, "", None)
    assert isinstance(follower.take(state(2, 5.0)), RunChanged)
    assert follower.take(state(2, 4.0)) is None
    assert isinstance(follower.take(state(2, 5.0)), RunChanged)
    assert isinstance(follower.take_state(state(3, 1.0)), RunChanged)
    assert follower.take(state(2, 9.0)) is None
