"""`train`: record the config, install the hooks, run the script, save, and record how it ended."""

import os
import sys
import traceback
from contextlib import AbstractContextManager, ExitStack, chdir
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from mosaic_base.imports import large_imports
from mosaic_contracts.spec import RunSpec
from mosaic_gymkit.drawing import MUJOCO_GL
from mosaic_worker_cleanrl.algorithm import Script
from mosaic_worker_cleanrl.errors import CheckpointRefused, HookSilent
from mosaic_worker_cleanrl.launch.script import LoadedScript
from mosaic_worker_cleanrl.launch.source import SOURCE, keep_source
from mosaic_worker_cleanrl.launch.stop import GracefulStop
from mosaic_worker_cleanrl.oldgym import OLD_GYM_PATH
from mosaic_worker_cleanrl.packages import installed_packages
from mosaic_worker_cleanrl.plan import ScriptPlan, make_plan
from mosaic_worker_cleanrl.plan.start import warm_start_facts
from mosaic_worker_cleanrl.plan.tracking_plan import TrackingPlan
from mosaic_worker_cleanrl.plan.video import CAPTURE
from mosaic_worker_cleanrl.schema.document import TENSORBOARD
from mosaic_workerkit.control import StopFlag, StopForced
from mosaic_workerkit.errors import RunRefused
from mosaic_workerkit.git_state import worker_git_state
from mosaic_workerkit.surroundings import surroundings_of
from mosaic_workerkit.telemetry import Telemetry

if TYPE_CHECKING:
    from mosaic_worker_cleanrl.launch.session import ScriptSession


def train_run(telemetry: Telemetry, stop: StopFlag) -> None:
    """Train what the run's spec says, in the run's folder. Returns also after a polite stop.

    Raises:
        RunRefused: the spec is one that `check` calls blocking.
        HookNotInstalled: the installed packages are not as expected.
        HookSilent: the script ended and a hook was never called.
        BaseException: whatever the script raised; a log event reports it first.
    """
    spec: RunSpec = telemetry.spec
    with _ErrorReport(telemetry), chdir(telemetry.run_dir):
        plan = make_plan(spec)
        plan.require_none()
        if plan.script is None:
            raise RunRefused("The plan is not complete")
        folder = _tensorboard_folder(spec) if plan.arguments[TENSORBOARD] else None
        code = {} if plan.script.path is None else keep_source(plan.script.path, telemetry.run_dir)
        telemetry.config(_config(spec, plan, folder, code))
        if code:
            telemetry.artifact(Path(code["script_file"]["path"]), SOURCE)
        telemetry.progress(0, plan.total_steps)
        for finding in plan.findings:
            telemetry.log(finding.level, finding.message, {"where": finding.where})
        try:
            _run_script(spec, plan, plan.script, telemetry, stop, folder)
        except CheckpointRefused as error:
            raise RunRefused(str(error)) from error
        telemetry.lifecycle("done")  # also when a stop was asked for too late to change anything


def _run_script(
    spec: RunSpec,
    plan: ScriptPlan,
    script: Script,
    telemetry: Telemetry,
    stop: StopFlag,
    folder: Path | None,
) -> None:
    # torch takes seconds to import; the config is sent before, and `describe` and `check` never pay for it.
    telemetry.lifecycle("importing", {"modules": ["torch"]})
    with large_imports():
        import torch

        from mosaic_worker_cleanrl.launch.compiler import import_compiler_when_used
        from mosaic_worker_cleanrl.launch.session import ScriptSession

    import_compiler_when_used()
    torch.set_num_threads(spec.cpus)
    if script.bundle == "jax":
        _limit_jax(spec)
    if plan.gl is not None:
        os.environ[MUJOCO_GL] = plan.gl
    loaded = LoadedScript(script.module)
    session = ScriptSession(spec, plan, telemetry, stop, loaded.variables)
    session.safe_point()
    with ExitStack() as outer:
        if plan.tracking is not None and folder is not None:
            outer.enter_context(_tracked(session, plan.tracking, folder))
        _run_hooked(session, script, loaded, folder)
        _require_hooks_called(
            script, session.writers_made, session.environments_made, session.global_step
        )
        if not session.save("final"):
            raise HookSilent(
                f"{script.module} ended and holds no network in its variables: there is nothing to save"
            )


def _limit_jax(spec: RunSpec) -> None:
    """Keep JAX to the cores of a run and, where it has no GPU, from looking for one. JAX reads this at its import."""
    if spec.cpus == 1:
        own = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {own}".strip()
    if not spec.gpus:
        os.environ.setdefault("JAX_PLATFORMS", "cpu")


def _tracked(
    session: "ScriptSession", plan: TrackingPlan, folder: Path
) -> AbstractContextManager[None]:
    with large_imports():
        from mosaic_worker_cleanrl.launch.wandb_environment import prepare_environment

        prepare_environment(session.telemetry.run_dir, plan)
        from mosaic_worker_cleanrl.launch.tracking_hook import tracking_hooks

    return tracking_hooks(session, plan, folder)


def _run_hooked(
    session: "ScriptSession", script: Script, loaded: LoadedScript, folder: Path | None
) -> None:
    from mosaic_worker_cleanrl.launch.environment_hook import environment_hooks
    from mosaic_worker_cleanrl.launch.writer_hook import writer_hooks

    with ExitStack() as stack:
        stack.enter_context(session.live)
        stack.callback(session.close_clips)
        if script.imports("gym"):
            sys.path.insert(0, str(OLD_GYM_PATH))
            stack.callback(sys.path.remove, str(OLD_GYM_PATH))
        if script.path is not None:
            # A script finds modules in its folder; at the end they hide no installed package.
            folder_of_script = str(script.path.parent)
            sys.path.append(folder_of_script)
            stack.callback(sys.path.remove, folder_of_script)
        stack.enter_context(environment_hooks(session))
        if session.plan.arguments.get(CAPTURE):
            from mosaic_worker_cleanrl.launch.video_hook import video_hooks

            stack.enter_context(video_hooks(session))
        if script.note:
            from mosaic_worker_cleanrl.launch.buffer_hook import buffer_hook

            stack.enter_context(buffer_hook())
        stack.enter_context(writer_hooks(session, folder))
        _execute(loaded, session.plan.argv)


def _execute(loaded: LoadedScript, argv: list[str]) -> None:
    try:
        loaded.execute(argv)
    except SystemExit as leaving:
        if leaving.code not in (None, 0):
            raise


def _require_hooks_called(script: Script, writers: int, environments: int, steps: int) -> None:
    silent = [
        what
        for what, count in (
            ("no SummaryWriter was made", writers),
            ("gymnasium.make was never called", environments),
            ("no SyncVectorEnv was stepped", steps),
        )
        if count == 0
    ]
    if silent:
        raise HookSilent(
            f"{script.module} ended, but {', '.join(silent)}: nothing of that was recorded. "
            "The script does it in a way that this worker has no hook for"
        )


def _tensorboard_folder(spec: RunSpec) -> Path:
    name = f"{spec.environment}__{spec.algorithm}__{spec.seed}".replace("/", "_")
    return Path("tensorboard") / name


def _config(
    spec: RunSpec, plan: ScriptPlan, tensorboard: Path | None, code: dict[str, Any]
) -> dict[str, Any]:
    if plan.probe is None or plan.script is None:
        raise RunRefused("The plan is not complete")
    grid = plan.probe.grid
    return {
        "algorithm": spec.algorithm,
        "environment": spec.environment,
        "seed": spec.seed,
        **({} if grid is None else {"grid": grid.model_dump(mode="json")}),
        "script": plan.script.module,
        "argv": plan.argv,
        "arguments": plan.arguments,
        "num_envs": int(plan.arguments.get("num_envs", 1)),
        "spaces": plan.spaces,
        "wrappers": list(plan.wrappers),
        "packages": installed_packages(),
        "record": spec.record.value,
        "replay_every": spec.replay_every,
        "tensorboard": tensorboard.as_posix() if tensorboard is not None else None,
        "total_steps": plan.total_steps,
        "checkpoint_every_steps": plan.checkpoint_every_steps,
        "threads": spec.cpus,
        "surroundings": surroundings_of(spec),
        **(worker_git_state() if plan.script.path is None else code),
        **warm_start_facts(plan),
    }


class _ErrorReport:
    """Reports an error with its traceback and lets it propagate; a polite stop ends here."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if isinstance(error, GracefulStop):
            return True
        has_config = (
            self._telemetry.next_seq > 1
        )  # before it nothing but a lifecycle may be recorded
        if error is not None and has_config and not isinstance(error, StopForced):
            lines = "".join(traceback.format_exception(kind, error, trace))
            self._telemetry.log("error", f"{type(error).__name__}: {error}", {"traceback": lines})
        return False
