"""The scheduler's problems, in words."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mosaic_base.nearest import nearest_names
from mosaic_contracts.fault import fault_place, fault_text
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.storage_words import PROFILES_FILE
from mosaic_contracts.worker import Finding
from mosaic_scheduler.errors import WorkerUnknown, WorkerUnready
from mosaic_scheduler.size_text import size_text


def run_unknown(run_id: str) -> ProblemError:
    """No run has this id."""
    return ProblemError(
        Problem(
            code=ProblemCode.RUN_UNKNOWN,
            title="There is no such run",
            detail=f"No run has the id {run_id!r}. `./mosaic ps` lists them.",
        )
    )


def run_live(run_id: str, state: str, what: str) -> ProblemError:
    """Only an ended run can be archived or started again."""
    return ProblemError(
        Problem(
            code=ProblemCode.RUN_LIVE,
            title=f"The run has not ended, so that it cannot be {what}",
            detail=f"Run {run_id} is {state}. Stop it first (`./mosaic stop {run_id}`), or wait for its end.",
        )
    )


def run_needed(run_id: str, against: Sequence[str]) -> ProblemError:
    """A run that other runs need, or that is pinned, is deleted on explicit request only."""
    return ProblemError(
        Problem(
            code=ProblemCode.RUN_NEEDED,
            title="The run is needed",
            detail=(
                f"Run {run_id} stays: {'; '.join(against)}. Delete those first, or delete this one all the same: "
                f"`./mosaic rm {run_id} --force`."
            ),
            fields=[{"where": "run_id", "message": reason} for reason in against],
        )
    )


def group_unknown(group_id: str) -> ProblemError:
    """No group has this id."""
    return ProblemError(
        Problem(
            code=ProblemCode.RUN_UNKNOWN,
            title="There is no such group",
            detail=f"No group and no sweep has the id {group_id!r}. `./mosaic ps` lists them.",
        )
    )


def group_live(group_id: str, run_id: str, state: str) -> ProblemError:
    """A group is deleted as a whole."""
    return ProblemError(
        Problem(
            code=ProblemCode.RUN_LIVE,
            title="The group has not ended, so that it cannot be deleted",
            detail=f"Its run {run_id} is {state}. Stop it first (`./mosaic stop {group_id}`), or wait for its end.",
        )
    )


def not_a_group(sweep_id: str) -> ProblemError:
    """A sweep tries failed trials again itself."""
    return ProblemError(
        Problem(
            code=ProblemCode.REQUEST_INVALID,
            title="A sweep is not started again by its failed runs",
            detail=f"`./mosaic sweep resume {sweep_id}` goes on with the sweep and tries its failed trials again.",
        )
    )


def run_protected(run_id: str, why: str) -> ProblemError:
    """Nothing of the run may be removed now."""
    return ProblemError(
        Problem(
            code=ProblemCode.RUN_PROTECTED,
            title="Nothing of the run may be removed now",
            detail=f"Run {run_id} stays as it is: {why}. `./mosaic disk {run_id}` shows what it keeps.",
        )
    )


def run_not_queued(run_id: str, state: str) -> ProblemError:
    """Only a run that waits has a place in the queue."""
    return ProblemError(
        Problem(
            code=ProblemCode.RUN_NOT_QUEUED,
            title="The run does not wait in the queue",
            detail=f"Run {run_id} is {state}. `./mosaic queue` shows what waits.",
        )
    )


def run_at_engine(run_id: str, why: str) -> ProblemError:
    """A run that waits in the queue of a cluster, where not everything can be changed."""
    return ProblemError(
        Problem(
            code=ProblemCode.RUN_NOT_QUEUED,
            title="The run waits in the cluster's own queue",
            detail=f"Run {run_id} was passed on to the cluster's queue: {why}. Runs without a place in `./mosaic "
            "queue` are there.",
        )
    )


def engine_away(why: str) -> ProblemError:
    """The engine that has a run does not answer."""
    return ProblemError(
        Problem(
            code=ProblemCode.SERVICE_UNAVAILABLE,
            title="The cluster does not answer",
            detail=f"{why} Nothing was changed; try it again later.",
        )
    )


def run_going(run_id: str) -> ProblemError:
    """A run whose files and events are being deleted cannot be brought back."""
    return ProblemError(
        Problem(
            code=ProblemCode.RUN_UNKNOWN,
            title="The run is being deleted permanently",
            detail=f"Run {run_id} can no longer be restored. `./mosaic ps` lists the runs.",
        )
    )


def request_invalid(what: str, error: ValidationError) -> ProblemError:
    """A request whose inner part a person wrote, and which cannot be read."""
    fields = [
        {"where": fault_place(entry) or what, "message": fault_text(entry)}
        for entry in error.errors()
    ]
    return ProblemError(
        Problem(
            code=ProblemCode.REQUEST_INVALID,
            title=f"The {what} is not valid",
            detail=" ".join(f"{field['where']}: {field['message']}." for field in fields),
            fields=fields,
        )
    )


def profile_unknown(name: str, known: Sequence[str]) -> ProblemError:
    """No storage profile has this name."""
    return ProblemError(
        Problem(
            code=ProblemCode.REQUEST_INVALID,
            title="There is no such storage profile",
            detail=f"No storage profile is called {name!r}. Known are {', '.join(known)}; others are added in "
            f"{PROFILES_FILE} in MOSAIC_HOME.",
            fields=[
                {
                    "where": "storage_profile",
                    "message": "unknown profile",
                    "nearest": nearest_names(name, known),
                }
            ],
        )
    )


def worker_unknown(error: WorkerUnknown) -> ProblemError:
    """No such worker."""
    hint = f" Did you mean {error.nearest[0]!r}?" if error.nearest else ""
    return ProblemError(
        Problem(
            code=ProblemCode.WORKER_UNKNOWN,
            title="There is no such worker",
            detail=f"No worker is called {error.name!r}.{hint} `./mosaic describe` lists them.",
            fields=[{"where": "worker", "message": "unknown worker", "nearest": error.nearest}],
        )
    )


def worker_not_ready(worker: str, error: WorkerUnready) -> ProblemError:
    """A worker is registered but cannot be used."""
    return ProblemError(
        Problem(
            code=ProblemCode.WORKER_NOT_READY,
            title=f"The worker {worker} is not ready",
            detail=str(error),
        )
    )


def disk_low(home: Path, free_bytes: int, reserve_bytes: int) -> ProblemError:
    """No new run while the disk is nearly full."""
    return ProblemError(
        Problem(
            code=ProblemCode.DISK_LOW,
            title="The disk is nearly full",
            detail=(
                f"{size_text(free_bytes)} are free below {home}, and {size_text(reserve_bytes)} must stay free "
                "(MOSAIC_DISK_RESERVE_BYTES). Free some space, for example by deleting old run folders."
            ),
            retry_after_s=60.0,
        )
    )


def disk_too_small(home: Path, why: str) -> ProblemError:
    """No run that would fill the disk, as all runs of its kind before it would have."""
    return ProblemError(
        Problem(
            code=ProblemCode.DISK_LOW,
            title="The disk has no room for this run",
            detail=f"{why} That is below {home}. Free some space, ask for fewer steps, or record less (`record`).",
            retry_after_s=60.0,
        )
    )


def backup_going() -> ProblemError:
    """No file goes to the trash or comes back while a backup copies what one moment knew."""
    return ProblemError(
        Problem(
            code=ProblemCode.SERVICE_UNAVAILABLE,
            title="A backup is being made",
            detail=(
                "Files of runs are neither removed nor brought back until it is complete, so that it has all that it "
                "lists. Try again then."
            ),
            retry_after_s=5.0,
        )
    )


def folder_refused(fault: str) -> ProblemError:
    """No new run while none can have a folder."""
    return ProblemError(
        Problem(
            code=ProblemCode.STORE_UNAVAILABLE,
            title="No run can have a folder of its own",
            detail=fault,
        )
    )


def import_refused(findings: Sequence[Finding]) -> ProblemError:
    """A file that is not imported: what is wrong with it, and what is not known of it."""
    blocking = [finding for finding in findings if finding.level == "blocking"]
    return ProblemError(
        Problem(
            code=ProblemCode.CHECKPOINT_REFUSED,
            title="The file cannot be imported",
            detail=" ".join(f.message for f in blocking),
            fields=_fields(blocking),
        )
    )


def refused(findings: Sequence[Finding]) -> ProblemError:
    """A spec that was refused: the first blocking finding gives the code, and the detail lists all of them."""
    blocking = [finding for finding in findings if finding.level == "blocking"]
    first = blocking[0]
    return ProblemError(
        Problem(
            code=ProblemCode(first.code or ProblemCode.SPEC_INVALID),
            title="The run cannot be started as asked for",
            detail=" ".join(f"{f.where}: {f.message}" for f in blocking),
            fields=_fields(blocking),
        )
    )


def _fields(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    return [
        {"where": f.where, "message": f.message, "nearest": f.nearest, "offers": f.offers}
        for f in findings
    ]
