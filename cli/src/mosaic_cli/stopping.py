"""Stopping all runs of a stack at once."""

import time

from mosaic_cli.errors import SchedulerAway
from mosaic_cli.output import err
from mosaic_cli.wording import plural
from mosaic_client import light, reading
from mosaic_client.errors import MosaicProblem, StackUnavailable
from mosaic_client.stack_connection import StackConnection
from mosaic_contracts.choices import RunKind
from mosaic_contracts.states import RunState

STOP_RUNS_TIMEOUT_S = 120.0
LOOK_EVERY_S = 0.3


def live_runs(stack: StackConnection) -> list[light.RunFields]:
    """List the runs that have not ended, of every kind: those that wait and replays among them.

    Raises:
        SchedulerAway: the list may be old, so nobody knows which runs live.
    """
    states = [state.value for state in RunState if not state.is_final]
    kinds = [kind.value for kind in RunKind]  # by default the list leaves replays out
    runs = list(reading.each_run(stack, state=states, kind=kinds))
    if any(run.stale for run in runs):
        raise SchedulerAway("The scheduler does not answer. `./mosaic status` says more.")
    return runs


def stop_all(stack: StackConnection, live: list[light.RunFields]) -> list[light.RunFields]:
    """Stop these runs and wait for their end, within a bound; returns those that go on."""
    deadline_s = time.monotonic() + STOP_RUNS_TIMEOUT_S
    with err.status(f"Stopping {plural(len(live), 'run')} ..."):
        to_stop = live
        while live and time.monotonic() < deadline_s:
            try:
                while to_stop:
                    _stop_unless_ended(stack, to_stop[0].run_id)
                    to_stop = to_stop[1:]
                live = [run for run in live if not reading.run(stack, run.run_id).state.is_final]
            except StackUnavailable:
                pass  # too busy to answer in time, with many runs: ask again
            time.sleep(
                LOOK_EVERY_S
            )  # several runs at once; following each would take a connection a run
    return live


def stop_message(stopped: list[str], going_on: list[str]) -> str:
    """What is said of runs that were stopped."""
    if not stopped and not going_on:
        return "No run was live."
    words = []
    if stopped:
        words.append(f"Stopped {plural(len(stopped), 'run')}: {', '.join(stopped)}")
    if going_on:
        words.append(f"{plural(len(going_on), 'run')} did not end in time: {', '.join(going_on)}")
    return "\n".join(words)


def _stop_unless_ended(stack: StackConnection, run_id: str) -> None:
    try:
        reading.stop(stack, run_id)
    except MosaicProblem:
        if not reading.run(stack, run_id).state.is_final:
            raise  # an end between the listing and this stop is what was wanted
