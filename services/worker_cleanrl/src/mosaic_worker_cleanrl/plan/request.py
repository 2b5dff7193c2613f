"""What of a request does not depend on the script's arguments: packages, devices, algorithm, environment."""

import math

from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RunSpec
from mosaic_gymkit.families import is_chained
from mosaic_worker_cleanrl.algorithm import (
    ATARI_FRAMES,
    SCRIPTS,
    Script,
    algorithms_for,
    nearest_algorithms,
)
from mosaic_worker_cleanrl.description import MODES
from mosaic_worker_cleanrl.environment import atari
from mosaic_worker_cleanrl.environment.extras import extra_named, known_environments
from mosaic_worker_cleanrl.environment.probe import EnvironmentProbe, probe_environment
from mosaic_worker_cleanrl.errors import ExtraMissing
from mosaic_worker_cleanrl.packages import installed_packages
from mosaic_worker_cleanrl.plan.draft import ScriptPlan
from mosaic_workerkit.errors import EnvironmentUnusable


def check_packages(plan: ScriptPlan) -> None:
    """Refuse packages with which the scripts would run and report nothing."""
    version = installed_packages().get("gymnasium", "")
    if version.partition(".")[0] != "0":
        plan.block(
            "packages.gymnasium",
            f"gymnasium {version or '(none)'} is installed; these scripts need 0.29. From 1.0 on they train without "
            "ever reporting an episode. Make the environment again: ./mosaic sync worker_cleanrl",
            ProblemCode.WORKER_NOT_READY,
        )


def check_request(spec: RunSpec, plan: ScriptPlan) -> None:
    """Look at the kind of run and the devices it asks for."""
    if spec.kind not in MODES:
        plan.block(
            "kind",
            f"This worker has no mode {spec.kind.value!r}.",
            ProblemCode.SPEC_INVALID,
        )
    torch = installed_packages().get("torch", "")
    if spec.gpus and torch.endswith("+cpu"):
        plan.block(
            "gpus",
            f"torch {torch} is a build for the CPU only. Ask for gpus 0, or make the environment with a CUDA build.",
            ProblemCode.RESOURCES_IMPOSSIBLE,
        )
    elif spec.gpus > 1:
        plan.warn("gpus", f"The script uses one GPU; {spec.gpus - 1} would stand idle.")


def pick_script(spec: RunSpec, plan: ScriptPlan) -> Script | None:
    """Find the algorithm's script."""
    script = SCRIPTS.get(spec.algorithm)
    if script is not None and script.unavailable:
        plan.block(
            "algorithm",
            script.unavailable,
            ProblemCode.ALGORITHM_UNKNOWN,
            [script.instead] if script.instead else [],
        )
        return None
    extra = extra_named(script.bundle) if script is not None else None
    if extra is not None and not extra.is_installed:
        plan.block(
            "algorithm",
            str(ExtraMissing(spec.algorithm, extra.title, extra.install_command)),
            ProblemCode.WORKER_NOT_READY,
        )
    if script is None:
        nearest = nearest_algorithms(spec.algorithm)
        hint = f"Did you mean {nearest[0]}? " if nearest else ""
        plan.block(
            "algorithm",
            f"There is no algorithm {spec.algorithm!r} here. {hint}Known: {', '.join(SCRIPTS)}.",
            ProblemCode.ALGORITHM_UNKNOWN,
            nearest,
        )
    return script


def pick_environment(spec: RunSpec, plan: ScriptPlan) -> EnvironmentProbe | None:
    """Make the environment once."""
    try:
        return probe_environment(spec.environment)
    except ExtraMissing as missing:
        plan.block("environment", str(missing), ProblemCode.WORKER_NOT_READY)
    except EnvironmentUnusable as error:
        plan.block("environment", str(error), ProblemCode.ENVIRONMENT_UNKNOWN, error.nearest)
    return None


def check_recording(spec: RunSpec, plan: ScriptPlan) -> None:
    """Say when what is recorded does not suffice to rebuild an episode, or is more than anybody could want."""
    if spec.record.has_observations and plan.probe is not None and plan.probe.form == "atari":
        frame = math.prod(plan.probe.observation_space.shape or ())
        frames = plan.total_steps * ATARI_FRAMES
        plan.warn(
            "record",
            f"At `full` every frame is kept: {frames:,} of {frame / 2**10:,.0f} KiB, {frames * frame / 2**30:,.1f} GiB "
            "before compression. `replay` (the default) keeps a hash of each, by which all can be made again.",
        )
    if spec.record.has_steps and spec.replay_every > 1 and is_chained(spec.environment):
        plan.warn(
            "replay_every",
            f"{spec.environment} carries something over from episode to episode: some can be rebuilt only after all "
            "before them, so with replay_every above 1 these cannot. Leave it at 1 to replay them.",
        )


def check_acting(script: Script, plan: ScriptPlan) -> None:
    """Refuse a play of a checkpoint whose network this worker cannot rebuild."""
    if not script.acts:
        plan.block(
            "kind",
            f"Checkpoints of {script.title} cannot act here: this worker cannot rebuild its network. A training can "
            "begin with one (the parameter `checkpoint`).",
            ProblemCode.SPEC_INVALID,
        )


def check_adaptation(script: Script, plan: ScriptPlan) -> None:
    """Report what this worker changes for the script to run."""
    if script.note:
        plan.warn("algorithm", script.note)


def check_spaces(script: Script, plan: ScriptPlan) -> None:
    """Compare what the environment has with what the script takes."""
    probe = plan.probe
    if probe is None:
        return
    for note in probe.notes:
        plan.warn("environment", note)
    game = atari.game_of(probe.id) if script.takes == "atari" else None
    if game is not None and atari.skips_frames(known_environments()[probe.id]):
        plan.warn(
            "environment",
            f"{probe.id} leaves out frames itself, and the script leaves out three of four once more. It is made for "
            f"{atari.plain_name(game)}.",
        )
    why = None
    if probe.action_kind not in script.action_spaces:
        why = f"acts in {' or '.join(script.action_spaces)} spaces only; {probe.id} has {probe.action_space}"
    elif probe.observation_kind not in script.observation_spaces:
        takes = " or ".join(script.observation_spaces)
        why = f"observes {takes} spaces only; {probe.id} has {probe.observation_space}"
    elif probe.form != script.takes:
        shape = probe.observation_space.shape
        wants = "observations of one dimension" if script.takes == "vector" else "Atari frames"
        has = f"have the shape {shape}" if shape else f"are {str(probe.observation_space)[:200]}"
        why = f"takes {wants} only; the observations of {probe.id} {has}"
    if why is not None:
        others = algorithms_for(probe.action_kind, probe.observation_kind, probe.form)
        hint = f"Use {' or '.join(others[:3])} for it." if others else "No algorithm here can."
        plan.block(
            "environment",
            f"{script.title} {why}. {hint}",
            ProblemCode.PARAMETER_INVALID,
        )
