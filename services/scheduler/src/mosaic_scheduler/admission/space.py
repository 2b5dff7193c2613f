"""Whether a disk has space for a run: for its folder, for its outbox, and for what runs of its kind needed."""

from mosaic_contracts.spec import RunSpec
from mosaic_scheduler import problem
from mosaic_scheduler.admission.check import Check, from_problem, passed, warned
from mosaic_scheduler.admission.context import DiskSpace
from mosaic_scheduler.admission.past_sizes import ENOUGH_RUNS, SpaceNeed
from mosaic_scheduler.disk.watch import WRITING_KINDS
from mosaic_scheduler.size_text import size_text

_MAKE_ROOM = "Free some space, e.g. with `./mosaic gc` or `./mosaic rm` of old runs."
_SMALLER = "Free some space (`./mosaic disk`, `./mosaic gc`), ask for fewer steps, or record less (`record`)."


def check_disk(disk: DiskSpace, spec: RunSpec | None, need: SpaceNeed | None = None) -> Check:
    """Whether the run can have a folder, and space for what it records.

    Args:
        disk: the disk below MOSAIC_HOME.
        spec: of the run; None: it could not be read.
        need: what the run will need; None: nobody knows.
    """
    free, reserve = disk.free_bytes, disk.reserve_bytes
    if free < reserve:
        error = problem.disk_low(disk.home, free, reserve)
        return from_problem("disk", error, _MAKE_ROOM)
    if disk.fault is not None:
        return from_problem("disk", problem.folder_refused(disk.fault), "Do that, and check again.")
    if spec is None or spec.kind not in WRITING_KINDS:
        return passed("disk", f"{size_text(free)} free.")
    usable = max(free - disk.critical_bytes, 0)
    needs = need_text(need)
    if need is not None and need.runs >= ENOUGH_RUNS and need.least_bytes > usable:
        error = problem.disk_too_small(disk.home, f"{needs} {_usable_text(free, usable)}")
        return from_problem("disk", error, _SMALLER)
    if disk.waiting_reason is not None:
        return warned("disk", f"The run would wait: {disk.waiting_reason} {needs}", _MAKE_ROOM)
    if need is not None and need.bytes > usable:
        return warned("disk", f"{needs} {_usable_text(free, usable)}", _SMALLER)
    if free - reserve < spec.outbox_bytes:
        message = (
            f"{size_text(free)} free, of which {size_text(reserve)} stay free; events that wait in the outbox may "
            f"take {size_text(spec.outbox_bytes)}. {needs}"
        )
        return warned("disk", message, _MAKE_ROOM)
    return passed("disk", f"{size_text(free)} free. {needs}")


def need_text(need: SpaceNeed | None) -> str:
    """What a run will need, in words."""
    if need is None:
        return "What the run will need is not known: there was no run of its kind yet."
    steps = "" if need.steps is None else f", for {need.steps:,} steps"
    runs = "1 past run" if need.runs == 1 else f"{need.runs} past runs"
    return f"The run will need about {size_text(need.bytes)} (median of {runs} of its kind{steps})."


def _usable_text(free: int, usable: int) -> str:
    return (
        f"Runs can use {size_text(usable)} of {size_text(free)} free before they are asked to stop."
    )
