"""Decide which runs start outside the queue: replays, plays, dashboards, sweeps and syncs. Pure.

Somebody waits for such a run, so that it does not wait behind trainings for cores. A few of each kind run at once, in
addition to everything else. A play that asks for GPUs has its place in the queue.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from mosaic_contracts.dashboards import MAX_DASHBOARDS
from mosaic_contracts.spec import RunKind, RunSpec
from mosaic_contracts.syncs import MAX_SYNCS
from mosaic_scheduler.queue.plan import HELD, SENDING, QueueEntry, QueuePlace

MAX_REPLAYS = 6
"""As many as a client shows side by side. One that has compared its steps uses no core until a frame is asked for."""
MAX_PLAYS = 4
"""A person takes part in one or looks at a few. One by a person uses little of a core, one of a policy a whole one."""
MAX_SWEEPS = 8
"""A sweep uses a core for a moment now and then. Its trials wait in the queue."""
OUTSIDE: Final = {
    RunKind.REPLAY: MAX_REPLAYS,
    RunKind.PLAY: MAX_PLAYS,
    RunKind.DASHBOARD: MAX_DASHBOARDS,
    RunKind.SWEEP: MAX_SWEEPS,
    RunKind.SYNC: MAX_SYNCS,
}
"""Kinds of runs that start outside the queue, and how many of each kind run at once."""
_BEHIND = {
    RunKind.REPLAY: f"behind other replays, of which {MAX_REPLAYS} run at once",
    RunKind.PLAY: f"behind other plays, of which {MAX_PLAYS} run at once; stop one to play now "
    "(`./mosaic ps --kind play`)",
    RunKind.DASHBOARD: f"behind other TensorBoards, of which {MAX_DASHBOARDS} run at once and all are in use; "
    "`./mosaic tensorboard RUN --stop` stops one",
    RunKind.SWEEP: f"behind other sweeps, of which {MAX_SWEEPS} run at once (`./mosaic sweep list`)",
    RunKind.SYNC: f"behind other syncs, of which {MAX_SYNCS} run at once",
}


def is_outside_queue(spec: RunSpec) -> bool:
    """Whether a run starts without waiting for cores."""
    return spec.kind in OUTSIDE and spec.gpus == 0


def places_outside_queue(
    kind: RunKind, waiting: Sequence[QueueEntry], running: int, unready: Mapping[str, str]
) -> list[QueuePlace]:
    """Places of runs of one kind.

    Args:
        kind: one of `OUTSIDE`.
        waiting: those that wait, in the order of the queue.
        running: number of those that run.
        unready: for each run whose record is not read yet, what it waits for. It keeps its turn.
    """
    free = OUTSIDE[kind] - running
    places = []
    for entry in waiting:
        reason = HELD if entry.held else SENDING if entry.sending else None
        if reason is None:
            reason = unready.get(entry.run_id)
            if free <= 0:
                reason = _BEHIND[kind]
            free -= 1
        places.append(QueuePlace(entry.run_id, None, reason, starts=reason is None))
    return places
