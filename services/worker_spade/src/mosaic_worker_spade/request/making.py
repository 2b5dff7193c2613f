"""Work out a run from a spec, and report what it would do."""

import os
from pathlib import Path
from typing import Any

from mosaic_base.nearest import nearest_names
from mosaic_contracts.launch import ENV_RUN_DIR
from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import CheckReport
from mosaic_contracts.xmpp import ENV_XMPP_FILE
from mosaic_gymkit.clips import clips_problem, clips_warning
from mosaic_worker_spade.deliberation.library import find_plan
from mosaic_worker_spade.description import ALGORITHMS, BDI, MODES
from mosaic_worker_spade.environment.catalog import Wish, find_world
from mosaic_worker_spade.errors import (
    CheckpointUnusable,
    LoopMissing,
    MapInvalid,
    PlanInvalid,
    XmppUnusable,
)
from mosaic_worker_spade.learning import checkpoint as checkpoints
from mosaic_worker_spade.learning.choice import Loop, choose_loop
from mosaic_worker_spade.packages import installed_packages
from mosaic_worker_spade.parameter import STEPS, read_parameters
from mosaic_worker_spade.recording import Sampling
from mosaic_worker_spade.request.draft import RunDraft
from mosaic_worker_spade.xmpp.access import read_access
from mosaic_worker_spade.xmpp.probe import probe
from mosaic_workerkit.errors import EnvironmentUnusable

DEFAULT_CHECKPOINTS = 10
"""In a run whose spec does not say how often, the final one included."""
PLAY_STEPS = 2_000
"""Steps of a play that says neither steps nor episodes: every one of them is recorded."""


def check_run(spec: RunSpec) -> CheckReport:
    """Say what a run would do and what is wrong with it. Nothing is started."""
    draft = make_draft(spec)
    if spec.algorithm == BDI and ENV_XMPP_FILE in os.environ:
        _check_xmpp(draft)
    shown: dict[str, Any] = {}
    if draft.world is not None:
        shown = {
            "algorithm": spec.algorithm,
            "environment": draft.world.id,
            "environment_arguments": draft.world.arguments,
            "max_episode_steps": draft.world.max_steps,
            "map": draft.world.map_text,
            "parameters": vars(draft.parameters),
            "plan": draft.plan.name if draft.plan else None,
            "seed": spec.seed,
            "total_steps": draft.total_steps,
            "checkpoint_every_steps": draft.checkpoint_every_steps,
            "loop": draft.reported_loop,
            "record": spec.record.value,
            "sampling": vars(draft.sampling),
            "packages": installed_packages(),
        }
    return draft.report(shown)


def make_draft(spec: RunSpec) -> RunDraft:
    """Work out what a run would do; what is wrong with it is in the findings."""
    draft = RunDraft()
    if spec.algorithm not in ALGORITHMS:
        nearest = nearest_names(spec.algorithm, ALGORITHMS)
        known = ", ".join(ALGORITHMS)
        draft.block(
            "algorithm",
            f"There is no algorithm {spec.algorithm!r} here. Known: {known}.",
            ProblemCode.ALGORITHM_UNKNOWN,
            nearest,
        )
        return draft
    if spec.kind not in MODES:
        draft.block(
            "kind", f"This worker has no mode {spec.kind.value!r}.", ProblemCode.SPEC_INVALID
        )
    if spec.gpus:
        draft.warn("gpus", "Tables are learned on the CPU; the GPU would stand idle.")
    draft.parameters = read_parameters(spec, draft, bdi=spec.algorithm == BDI)
    _find_world(spec, draft)
    _find_checkpoint(spec, draft)
    if spec.algorithm == BDI:
        _find_plan(spec, draft)
        _check_agents(draft)
    _measure(spec, draft)
    _check_clips(spec, draft)
    return draft


def _find_world(spec: RunSpec, draft: RunDraft) -> None:
    given = draft.parameters
    wish = Wish(map=given.map, slippery=given.slippery, max_steps=given.max_episode_steps)
    try:
        draft.world = find_world(spec.environment, wish)
    except EnvironmentUnusable as error:
        draft.block("environment", str(error), ProblemCode.ENVIRONMENT_UNKNOWN, error.nearest)
        return
    except MapInvalid as error:
        draft.block("parameters.map", str(error), ProblemCode.PARAMETER_INVALID)
        return
    if draft.world.id != spec.environment:
        draft.warn(
            "environment",
            f"{spec.environment} is gone from the installed gymnasium; {draft.world.id} takes its place.",
        )


def _find_checkpoint(spec: RunSpec, draft: RunDraft) -> None:
    path = draft.parameters.checkpoint
    if path is None:
        if spec.kind.plays:
            draft.block(
                "parameters.checkpoint",
                "A play shows what a checkpoint has learned: name one with the parameter `checkpoint`, or let "
                "`./mosaic play RUN` take the newest of a run.",
                ProblemCode.PARAMETER_INVALID,
            )
        return
    if ENV_RUN_DIR not in os.environ and not Path(path).expanduser().is_absolute():
        draft.warn(
            "parameters.checkpoint",
            f"{path} cannot be looked into from here; whether it fits this world is seen when the run starts.",
        )
        return
    try:
        draft.checkpoint = checkpoints.read(Path(path).expanduser())
        if draft.world is not None:
            draft.checkpoint.require_world(draft.world)
    except CheckpointUnusable as error:
        draft.block("parameters.checkpoint", str(error), ProblemCode.PARAMETER_INVALID)


def _find_plan(spec: RunSpec, draft: RunDraft) -> None:
    # spade's log and agentspeak's parser are needed only where there is a plan
    from mosaic_worker_spade.deliberation.reasoner import require_readable

    given = draft.parameters
    if given.plan is not None and given.plan_file is not None:
        draft.block(
            "parameters.plan",
            "plan and plan_file are both given. Keep one.",
            ProblemCode.PARAMETER_INVALID,
        )
        return
    where = "parameters.plan" if given.plan is not None else "parameters.plan_file"
    try:
        draft.plan = find_plan(given.plan, given.plan_file, plays=spec.kind.plays)
        require_readable(draft.plan)
    except PlanInvalid as error:
        draft.block(where, str(error), ProblemCode.PARAMETER_INVALID)


def _check_agents(draft: RunDraft) -> None:
    world = draft.world
    if draft.parameters.agents < 2 or world is None:
        return
    if world.grid is None or world.grid.states_per_cell > 1:
        draft.block(
            "parameters.agents",
            f"A scout reports places, and a state of {world.id} is more than a place. Take FrozenLake or CliffWalking, "
            "or agents 1.",
            ProblemCode.PARAMETER_INVALID,
        )


def _measure(spec: RunSpec, draft: RunDraft) -> None:
    given = draft.parameters
    if spec.steps is not None and STEPS in spec.parameters:
        draft.block(
            f"parameters.{STEPS}",
            f"The length of the run is given twice: steps {spec.steps} and {STEPS} {given.total_steps}. Keep one.",
            ProblemCode.PARAMETER_INVALID,
        )
    if given.epsilon_end > given.epsilon_start:
        draft.block(
            "parameters.epsilon_end",
            f"epsilon_end {given.epsilon_end} is above epsilon_start {given.epsilon_start}: exploration falls.",
            ProblemCode.PARAMETER_INVALID,
        )
    draft.total_steps = spec.steps or given.total_steps
    if spec.kind.plays and spec.steps is None and STEPS not in spec.parameters:
        draft.total_steps = PLAY_STEPS
        if draft.world is not None and spec.episodes is not None:
            draft.total_steps = spec.episodes * draft.world.max_steps
    draft.episodes = spec.episodes
    draft.checkpoint_every_steps = spec.checkpoint_every_steps or -(
        -draft.total_steps // DEFAULT_CHECKPOINTS
    )
    if not spec.kind.plays:
        draft.sampling = Sampling(given.record_gap, given.episode_gap, spec.replay_every)
        _find_loop(draft)
    draft.env_seed = spec.seed if given.world_seed is None else given.world_seed


def _find_loop(draft: RunDraft) -> None:
    try:
        draft.loop = choose_loop(Loop(draft.parameters.loop), draft.total_steps)
    except LoopMissing as error:
        draft.block("parameters.loop", str(error), ProblemCode.PARAMETER_INVALID)


def _check_clips(spec: RunSpec, draft: RunDraft) -> None:
    if spec.clip_every is None or draft.world is None:
        return
    if clips_problem():
        draft.block(
            "clip_every",
            "Clips need video encoding (PyAV), which is not installed here. Run `./mosaic sync worker_spade --bundle "
            "video` and ask again, or leave `clip_every` out: recorded episodes can be rebuilt and exported later.",
            ProblemCode.WORKER_NOT_READY,
        )
    elif not spec.record.has_episodes:
        draft.block(
            "clip_every",
            "Clips need the recording level `episodes` or above.",
            ProblemCode.PARAMETER_INVALID,
        )
    else:
        draft.warn(
            "clip_every",
            f"{clips_warning(spec.clip_every)} Tables are learned at thousands of episodes a second: an episode that "
            "begins while two clips are being encoded gets none.",
        )


def _check_xmpp(draft: RunDraft) -> None:
    try:
        probe(read_access(os.environ))
    except XmppUnusable as error:
        draft.block("xmpp", str(error), ProblemCode.XMPP_UNAVAILABLE)
