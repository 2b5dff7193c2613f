"""Decide which replays start now. Pure.

A replay is short and somebody waits for it, so that it does not wait behind trainings for cores. At most MAX_REPLAYS
run at once, in addition to everything else.
"""

from collections.abc import Mapping, Sequence

from mosaic_scheduler.queue.plan import HELD, SENDING, QueueEntry, QueuePlace

MAX_REPLAYS = 4
"""As many as a client shows side by side. One that has compared its steps uses no core until a frame is asked for."""


def replay_places(
    waiting: Sequence[QueueEntry], running: int, unready: Mapping[str, str]
) -> list[QueuePlace]:
    """Places of replays.

    Args:
        waiting: replays that wait, in the order of the queue.
        running: number of those that run.
        unready: for each run whose record is not read yet, what it waits for. It keeps its turn.
    """
    free = MAX_REPLAYS - running
    places = []
    for entry in waiting:
        reason = HELD if entry.held else SENDING if entry.sending else None
        if reason is None:
            reason = unready.get(entry.run_id)
            if free <= 0:
                reason = f"behind other replays, of which {MAX_REPLAYS} run at once"
            free -= 1
        places.append(QueuePlace(entry.run_id, None, reason, starts=reason is None))
    return places
