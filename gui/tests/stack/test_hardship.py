"""The real program in a process of its own against a real stack, whose parts are killed, or which is stopped itself.

How long it stands still under the flood is set by MOSAIC_TEST_SLEEP_S: beyond 20 s the gateway has given it up by then.

    MOSAIC_TEST_SLEEP_S=45 var/venvs/gui/bin/python -m pytest gui/tests/stack/test_hardship.py -k asleep
"""

import os
import signal
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from tests.client_process import ClientProcess, Report
from tests.real_stack import RealStack, absent

from mosaic_contracts.stack import TOKEN_FILE
from mosaic_gui.state.curves import EPISODE_RETURN

NAMES = ("losses/m0", "losses/m1", "losses/m2")
SLEEP_S = float(os.environ.get("MOSAIC_TEST_SLEEP_S") or 4)
FLOOD = 12_000
"""Events a second, nearly all of them metrics: the gateway keeps 0.4 s of them for a client that does not read."""

pytestmark = [
    pytest.mark.stack,
    pytest.mark.timeout(300),
    pytest.mark.skipif(bool(absent("workerkit")), reason=absent("workerkit")),
]


@pytest.fixture(scope="module")
def client(stack: RealStack) -> Iterator[ClientProcess]:
    """The client, live; one for all, as a window that is left open has to live through all of it."""
    made = ClientProcess(stack.home)
    made.wait_link("live")
    yield made
    assert made.close() == 0


def watched(stack: RealStack, client: ClientProcess, **parameters: float) -> str:
    """A run whose curve grows in the window."""
    run_id = stack.submit(**parameters)
    client.order("open", run_id)
    client.wait_points(run_id, 50)
    return run_id


def stop(stack: RealStack, client: ClientProcess, run_id: str) -> None:
    """End a run, and wait until the client has all of it."""
    stack.ask(f"/runs/{run_id}/stop", {})
    client.wait_ended(run_id)


def assert_equal_to_the_store(stack: RealStack, client: ClientProcess, run_id: str) -> None:
    """Value by value, NaN and infinities included, and no phase of its life twice."""
    has = client.values(run_id)
    for name in NAMES:
        np.testing.assert_array_equal(has["values"][name], stack.points(run_id, name))
    np.testing.assert_array_equal(has["values"][EPISODE_RETURN], stack.returns(run_id))
    assert len(has["phases"]) == len(set(has["phases"]))
    assert not has["has_gaps"]


def wait_pill(client: ClientProcess, word: str, about: str, after: int) -> None:
    """The badge in the corner says this, for this reason."""

    def is_said(line: Report) -> bool:
        return line["what"] == "pill" and line["word"] == word and about in line["detail"]

    client.wait(is_said, f"{word}: {about}", after)


@pytest.mark.nightly
def test_a_client_that_was_asleep_under_a_flood(stack: RealStack, client: ClientProcess) -> None:
    """It stays live, gets what the gateway could not keep for it from the store, and has each value once."""
    run_id = watched(stack, client, rate=FLOOD, events=FLOOD * (SLEEP_S + 4), metrics=1.0)
    with client.asleep():
        known, before = len(client.reported), stack.stored(run_id)
        time.sleep(SLEEP_S)  # it is the time that passes which is tried here
        slept_through = stack.stored(run_id) - before
    assert slept_through > FLOOD
    client.wait_ended(run_id)
    assert_equal_to_the_store(stack, client, run_id)
    assert client.links(known)[-1:] in ([], ["live"])
    assert client.notices(known) == []


@pytest.mark.nightly
def test_a_run_that_is_opened_in_its_middle(stack: RealStack, client: ClientProcess) -> None:
    """What the store has and what comes live join without a gap or a double, and the past's facts come too."""
    run_id = stack.submit(rate=1_500, events=9_000, metrics=0.5)
    _wait(lambda: stack.stored(run_id) > 2_000, "the middle")
    client.order("open", run_id)
    client.wait_ended(run_id)
    assert_equal_to_the_store(stack, client, run_id)
    has = client.values(run_id)
    assert has["joint"] != ""  # it did not read everything as events
    assert has["config"]["environment"] == "Synthetic-v0"
    assert "training" in has["phases"]


def test_services_that_are_killed_under_it(stack: RealStack, client: ClientProcess) -> None:
    """Without a gateway it is stale and comes back, without a broker it says what is wrong, and nothing is lost."""
    run_id = watched(stack, client, rate=200, events=10**6, metrics=0.5)
    began = len(client.reported)
    with stack.away("gateway"):
        client.wait_link("stale", began)
        known = len(client.reported)
    client.wait_link("live", known)
    points = client.wait_points(run_id, 0, known)
    os.kill(stack.service("recorder"), signal.SIGKILL)
    points = client.wait_points(run_id, points + 200)
    known = len(client.reported)
    with stack.away("broker"):
        wait_pill(client, "Live in part", "broker", known)
        known = len(client.reported)
    wait_pill(client, "Live", "", known)
    client.wait_points(run_id, points + 200)
    stop(stack, client, run_id)
    assert_equal_to_the_store(stack, client, run_id)
    assert client.links(began) == ["stale", "live"]


def test_a_gateway_that_dies_while_it_sleeps(stack: RealStack, client: ClientProcess) -> None:
    """What it finds when it wakes up is a dead line: it is stale, then live, and has each value once."""
    run_id = watched(stack, client, rate=200, events=10**6, metrics=0.5)
    known = len(client.reported)
    with client.asleep(), stack.away("gateway"):
        pass
    client.wait_link("stale", known)
    client.wait_link("live", known)
    client.wait_points(run_id, 0, len(client.reported))
    stop(stack, client, run_id)
    assert_equal_to_the_store(stack, client, run_id)


def test_skipped_events_are_reported_and_come_by_themselves(
    stack: RealStack, client: ClientProcess
) -> None:
    """A run that is opened while the recorder stands still says that it has a gap, which closes by itself."""
    run_id = stack.submit(rate=200, events=10**6, metrics=0.5)
    _wait(lambda: stack.stored(run_id) > 100, "something is stored")
    recorder = stack.service("recorder")
    os.kill(recorder, signal.SIGSTOP)
    try:
        # what is sent now is heard by nobody
        begun = _step(stack, run_id)
        _wait(lambda: _step(stack, run_id) > begun + 150, "more events came")
        began = len(client.reported)
        client.order("open", run_id)
        client.wait(lambda line: line["what"] == "notice", "what was skipped", began)
        points = client.wait_points(run_id, 0, len(client.reported))
    finally:
        os.kill(recorder, signal.SIGCONT)
    assert "events could not be sent in time" in client.notices(began)[0]
    client.wait_points(run_id, points + 400)
    assert_no_gap_in(client.values(run_id))
    stop(stack, client, run_id)
    assert_equal_to_the_store(stack, client, run_id)
    assert len(client.notices(began)) == 1


def test_a_stack_that_comes_back_with_another_token(
    stack: RealStack, client: ClientProcess
) -> None:
    """A user who leaves the window open over night need not start it again: the run that went on is whole."""
    run_id = watched(stack, client, rate=200, events=10**6, metrics=0.5)
    began = len(client.reported)
    old = stack.location.token
    with stack.away("gateway"):
        client.wait_link("stale", began)
        (stack.home / TOKEN_FILE).unlink()
        known = len(client.reported)
    client.wait_link("live", known)
    assert stack.location.token != old
    client.wait_points(run_id, 0, len(client.reported))
    stop(stack, client, run_id)
    assert_equal_to_the_store(stack, client, run_id)
    assert client.links(began) == ["stale", "live"]


def assert_no_gap_in(has: Report) -> None:
    """The synthetic worker counts: of three metrics in turn, each value follows from its seq, so none is left out."""
    seqs = {
        round(value * 7) for name in NAMES for value in has["values"][name] if np.isfinite(value)
    }
    episodes = len(has["values"][EPISODE_RETURN])
    assert episodes > 2
    first = [seq for seq in range(min(seqs), max(seqs)) if _is_metric(seq)]
    assert [seq for seq in first if seq not in seqs] == []


def _is_metric(seq: int) -> bool:
    """Whether it is a finite metric's seq, with half of the events metrics: see the synthetic worker's formula."""
    place = (seq - 3) % 100
    return 49 < place < 99 and seq % 97 != 0 and seq % 89 != 0


def _step(stack: RealStack, run_id: str) -> int:
    """How far the trainer says it is, which the recorder has no hand in."""
    progress = stack.ask(f"/runs/{run_id}")["progress"]
    return int(progress["step"]) if progress else 0


def _wait(claim: Callable[[], bool], words: str) -> None:
    ends = time.monotonic() + 60
    while not claim():
        assert time.monotonic() < ends, f"not within 60 s: {words}"
        time.sleep(0.05)  # it lies in another process, which has no event for us
