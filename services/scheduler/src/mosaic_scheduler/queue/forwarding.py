"""Which waiting runs are passed on to an engine that queues them itself. Pure.

The engine owns cores and GPUs, so no run waits here for them. Only so many wait in the engine's queue at once: the
others stay here, where priority and order can still be changed.
"""

from collections.abc import Sequence

from mosaic_scheduler.queue.plan import HELD, SENDING, QueueEntry, QueuePlace


def forwarded_places(waiting: Sequence[QueueEntry], at_engine: int, limit: int) -> list[QueuePlace]:
    """Places of runs that wait here, in the order of the queue.

    Args:
        waiting: the runs.
        at_engine: number of runs that wait in the engine's queue now.
        limit: number that may wait there at once.
    """
    places: list[QueuePlace] = []
    room, position = limit - at_engine, 0
    for entry in waiting:
        aside = HELD if entry.held else SENDING if entry.sending else entry.unready
        if aside:
            places.append(QueuePlace(entry.run_id, None, aside))
        elif room > 0:
            room -= 1
            places.append(QueuePlace(entry.run_id, None, None, starts=True))
        else:
            position += 1
            reason = f"{limit:,} runs wait at the cluster, and no more are passed on at once"
            places.append(QueuePlace(entry.run_id, position, reason))
    return places
