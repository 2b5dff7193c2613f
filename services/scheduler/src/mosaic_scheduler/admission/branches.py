"""Whether a run can begin at the step of a recorded episode that its spec names."""

from dataclasses import dataclass

from mosaic_contracts.branches import BranchPoint
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.replays import EpisodeEvents
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.spec import RunKind, RunSpec
from mosaic_contracts.worker import Algorithm, WorkerDescription
from mosaic_scheduler import problem
from mosaic_scheduler.admission.check import Check, from_problem, wrong
from mosaic_scheduler.admission.recorded import find_episode
from mosaic_scheduler.events.episodes import RecordedEpisodes
from mosaic_scheduler.runs.store import RunStore

_TODO = "`./mosaic episodes RUN` lists the episodes of a run."


@dataclass(frozen=True)
class BranchLook:
    """The episode at which a run is to begin."""

    record: RunRecord | None = None
    extent: EpisodeEvents | None = None
    fault: ProblemError | None = None
    """Why there is none."""


async def look_at_branch(
    spec: RunSpec,
    store: RunStore,
    episodes: RecordedEpisodes,
) -> tuple[RunSpec, BranchLook]:
    """Return the spec with the attempt and the parent filled in, and what is stored of the episode."""
    point = spec.start_from
    if point is None:
        return spec, BranchLook()
    run = await store.get(point.run_id)
    if run is None:
        return spec, BranchLook(fault=problem.run_unknown(point.run_id))
    record = run.record
    try:
        found = await find_episode(episodes, record, point)
    except ProblemError as error:
        return spec, BranchLook(record, fault=error)
    whole = point.model_copy(update={"attempt": found.source.attempt})
    named = {"start_from": whole, "parent": spec.parent or record.run_id}
    return spec.model_copy(update=named), BranchLook(record, found.extent)


def check_branch(spec: RunSpec, description: WorkerDescription, look: BranchLook) -> list[Check]:
    """Everything that speaks against beginning there; empty for a run that begins with a reset."""
    point = spec.start_from
    if point is None:
        return []
    if look.fault is not None:
        return [from_problem("spec", look.fault, _TODO)]
    algorithm = description.find_algorithm(spec.algorithm)
    found = [] if algorithm is None else _check_algorithm(spec, point, algorithm)
    if look.record is not None and look.record.spec.environment != spec.environment:
        message = f"the episode was recorded in {look.record.spec.environment}, and a branch goes on in that"
        found.append(_wrong("environment", message))
    return found if look.extent is None else [*found, *_check_step(point, look.extent)]


def _check_algorithm(spec: RunSpec, point: BranchPoint, algorithm: Algorithm) -> list[Check]:
    if spec.kind is not RunKind.PLAY:
        return [_wrong("start_from", "is for runs of kind play")]
    if not algorithm.branches:
        message = f"{algorithm.id} cannot begin at a recorded step: its worker does not rebuild episodes in a play"
        return [_wrong("start_from", message)]
    if point.actor == "human" and not (algorithm.hybrid or algorithm.human):
        return [_wrong("start_from.actor", f"{algorithm.id} takes no inputs of a person")]
    if point.actor == "policy" and algorithm.human:
        return [_wrong("start_from.actor", f"{algorithm.id} has no policy: a person acts in it")]
    return []


def _check_step(point: BranchPoint, extent: EpisodeEvents) -> list[Check]:
    where = f"episode {point.episode} of run {point.run_id}"
    if extent.ended_at is not None and point.step >= extent.ended_at:
        message = (
            f"{where} has ended at step {extent.ended_at}: nothing goes on after it. The last step to begin at is "
            f"{extent.ended_at - 1}"
        )
        return [_wrong("start_from.step", message)]
    if extent.recorded_steps is not None and point.step > extent.recorded_steps:
        message = f"{where} has {extent.recorded_steps} recorded steps"
        return [_wrong("start_from.step", message)]
    return []


def _wrong(where: str, message: str) -> Check:
    return wrong(where, message, ProblemCode.SPEC_INVALID)
