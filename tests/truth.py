"""What must be true of runs after something was killed or stopped: the same for processes and for containers.

A `House` is a whole stack with its runs; tests/kills has the one of processes, tests/containers the one of containers.
"""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from stack_under_test import until

from mosaic_client import Client, ClientError, ConnectionLost
from mosaic_contracts.live import Events, Missed
from mosaic_contracts.runs import RunView
from mosaic_contracts.states import EndCause, RunState
from mosaic_contracts.wire import SOURCE_WORKER

ENDLESS = 10**8
FIXED_EVENTS = 3
"""Events of the synthetic worker in addition to its steps: config, `training`, and its last word."""
PATIENCE_S = 120.0
GONE_S = 10.0
"""For a container to be taken away, after its run's end is written."""
FOLLOWED = 6_000


class House(Protocol):
    """A stack, with its runs in reach of signals."""

    def client(self) -> Client:
        """A client of it."""

    def submit_synthetic(self, **fields: Any) -> RunView:
        """A run of the synthetic worker."""

    def view(self, run_id: str) -> RunView:
        """The run; waits for a stack that is coming back."""

    def wait_final(self, run_id: str) -> RunView:
        """The run when it has ended and everything is stored."""

    def away(self, service: str) -> AbstractContextManager[None]:
        """kill -9 of a service, which does not come back before the end of the block."""

    def signal_worker(self, run_id: str, number: signal.Signals) -> None:
        """To the worker's process alone."""

    def wait_ended(self, run_id: str) -> None:
        """Wait until the worker has ended, whether or not a scheduler saw it."""

    def identity(self, run_id: str) -> str:
        """Identity of what the run is running in now: another one is another start."""

    def processes(self, run_id: str) -> list[str]:
        """Command lines of what lives of the run."""


Send = Callable[[str, signal.Signals], None]
"""A way of stopping a run where it stands (SIGSTOP), and back (SIGCONT)."""


def start(house: House, **fields: Any) -> str:
    """A run that writes, some of it stored."""
    given = {"steps": ENDLESS, **fields}
    given["parameters"] = {"rate": 1000, **given.get("parameters", {})}
    run_id = house.submit_synthetic(**given).run_id

    def writes() -> bool:
        view = house.view(run_id)
        assert not view.state.is_final, view.end
        return view.summary is not None and view.summary.events > 500

    until(writes, f"{run_id} writes", PATIENCE_S)
    return run_id


def stop(house: House, run_id: str) -> RunView:
    """Ask for its end, and judge it."""
    with house.client() as client:
        client.stop(run_id)
    view = judge(house, run_id, RunState.CANCELLED)
    assert view.end is not None
    assert view.end.exit_code == 0
    return view


def judge(house: House, run_id: str, state: RunState) -> RunView:
    """One terminal state with a cause, no event lost or doubled, nothing left."""
    view = house.wait_final(run_id)
    assert (view.state, view.attempt) == (state, 1), view.end
    assert view.end is not None
    assert view.end.message
    with house.client() as client:
        events = [(e["source"], e["seq"], e) for e in client.each_event(run_id)]
    for source in {source for source, _, _ in events}:
        seqs = [seq for one, seq, _ in events if one == source]
        assert seqs == list(range(1, len(seqs) + 1)), f"{source}: lost or doubled"
    phases = [
        e["phase"] for source, _, e in events if (source, e["type"]) == ("supervisor", "lifecycle")
    ]
    assert sorted(set(phases)) == sorted(phases), phases
    assert [phase for phase in phases if RunState(phase).is_final] == [state], phases
    assert view.summary is not None
    assert (view.summary.gaps, view.summary.quarantined) == (0, 0)
    until(lambda: not house.processes(run_id), f"nothing of {run_id} lives", GONE_S)
    assert house.view(run_id).revision == view.revision, "written once"
    return view


def judge_idle(house: House) -> None:
    """Nothing runs, so nobody holds a core."""

    def in_use() -> dict[str, object] | None:
        with house.client() as client:
            told = client.stack().scheduler
        return told if told and told["cpu_in_use"] == told["live"] == 0 else None

    until(in_use, "no core is held by a run that has ended", PATIENCE_S)


def end_all(house: House) -> None:
    """Stop what still lives, so that a test that failed holds no cores of the next one."""
    with house.client() as client:
        live = [run for run in client.each_run() if not run.state.is_final]
        for run in live:
            client.stop(run.run_id)
    for run in live:
        house.wait_final(run.run_id)


def cores(house: House) -> int:
    """Cores that the queue may give away."""
    with house.client() as client:
        told = client.stack().scheduler
    assert told is not None
    return int(str(told["cpu_limit"]))


@contextmanager
def full_house(house: House, **first: Any) -> Iterator[tuple[str, str | None, str]]:
    """Two runs that hold all cores (on a machine with one: one run), and a third that waits for one of them."""
    count = cores(house)
    one = start(house, cpus=1, **first)
    other = start(house, cpus=count - 1) if count > 1 else None
    waiting = house.submit_synthetic(steps=500, parameters={"rate": 0}).run_id

    def waits() -> bool:
        view = house.view(waiting)
        return view.state is RunState.QUEUED and view.waiting_reason is not None

    until(waits, "the third waits", PATIENCE_S)
    yield one, other, waiting


def scheduler_killed_among_three_runs(house: House) -> None:
    """One ends meanwhile and has its true exit code, one runs on and is adopted, one waits and starts once."""
    with full_house(house, parameters={"exit_code": 7}) as (ending, running, waiting):
        before = house.identity(running) if running else ""
        with house.away("scheduler"):
            house.signal_worker(
                ending, signal.SIGTERM
            )  # not by a stop: nobody is there to be asked
            house.wait_ended(ending)
        view = judge(house, ending, RunState.FAILED)
        assert view.end is not None
        assert (view.end.cause, view.end.exit_code) == (EndCause.EXIT_CODE, 7)
        view = judge(house, waiting, RunState.SUCCEEDED)
        assert worker_events(view) == 500 + FIXED_EVENTS
        if running:
            assert house.view(running).state is RunState.RUNNING
            assert house.identity(running) == before, "adopted, not started again"
            stop(house, running)
    judge_idle(house)


def suspended_beyond_the_heartbeat_limit(house: House, ways: Sequence[Send]) -> None:
    """What is stopped where it stands becomes unresponsive and nothing else: nobody gets its cores; then it goes on."""
    with full_house(house) as (one, other, waiting):
        runs = [run_id for run_id in (one, other) if run_id]
        for run_id, send in zip(runs, ways, strict=False):
            send(run_id, signal.SIGSTOP)
        for run_id in runs:
            wait_flag(house, run_id, unresponsive=True)
            assert house.view(run_id).state is RunState.RUNNING
        assert house.view(waiting).state is RunState.QUEUED
        for run_id, send in zip(runs, ways, strict=False):
            send(run_id, signal.SIGCONT)
        for run_id in runs:
            wait_flag(house, run_id, unresponsive=False)
        assert house.view(waiting).state is RunState.QUEUED
        for run_id in runs:
            stop(house, run_id)
        judge(house, waiting, RunState.SUCCEEDED)
    judge_idle(house)


def wait_flag(house: House, run_id: str, *, unresponsive: bool) -> None:
    """Wait until the run is called unresponsive, or is not any more."""

    def is_so() -> bool:
        return house.view(run_id).unresponsive is unresponsive

    until(is_so, f"unresponsive is {unresponsive} of {run_id}", PATIENCE_S)


def worker_killed_beside_its_grandchild(house: House) -> None:
    """The worker dies by kill -9; its grandchild, in a session of its own and deaf to TERM, does not outlive it."""
    run_id = start(house, parameters={"fork_stray": True})
    assert [line for line in house.processes(run_id) if "sleep 3600" in line], "no grandchild"
    house.signal_worker(run_id, signal.SIGKILL)
    view = judge(house, run_id, RunState.CRASHED)
    assert view.end is not None
    assert (view.end.cause, view.end.signal) == (EndCause.SIGNAL, 9)
    judge_idle(house)


def gateway_killed_under_its_clients(house: House) -> None:
    """Clients that follow a run while its gateway dies by kill -9 get every event once, in order, to its end."""
    run_id = start(house, steps=FOLLOWED, parameters={"rate": 600})
    followers = [_Follower(house, run_id) for _ in range(3)]
    for follower in followers:
        until(follower.has_begun, "it follows", PATIENCE_S)
    with house.away("gateway"):
        pass
    for follower in followers:
        follower.thread.join(PATIENCE_S)
        assert follower.failure is None, follower.failure
        assert follower.seqs == list(range(1, FOLLOWED + FIXED_EVENTS + 1))
        assert follower.losses > 0
    judge(house, run_id, RunState.SUCCEEDED)


def worker_events(view: RunView) -> int:
    """How many of the worker's events are stored."""
    assert view.summary is not None
    return next(m.last_seq for m in view.summary.sources if m.source == SOURCE_WORKER)


class _Follower:
    """A client that follows a run in a thread of its own."""

    def __init__(self, house: House, run_id: str) -> None:
        self._house, self._run_id = house, run_id
        self.seqs: list[int] = []
        self.losses = 0
        self.failure: BaseException | str | None = None
        self.thread = threading.Thread(target=self._follow, daemon=True)
        self.thread.start()

    def has_begun(self) -> bool:
        """Whether something came, be it a failure."""
        return bool(self.seqs or self.failure)

    def _follow(self) -> None:
        try:
            with self._house.client() as client:
                for item in client.follow(self._run_id, types=["*"]):
                    self._take(item)
        except ClientError as error:
            self.failure = error

    def _take(self, item: object) -> None:
        if isinstance(item, Events):
            self.seqs += [e["seq"] for e in item.events if e["source"] == SOURCE_WORKER]
        elif isinstance(item, ConnectionLost):
            self.losses += 1
        elif isinstance(item, Missed):
            self.failure = f"missed {item.count}"
