"""Make a plan from a spec, and report it."""

from typing import Any

from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import CheckReport
from mosaic_worker_cleanrl.packages import installed_packages
from mosaic_worker_cleanrl.plan.argument import fill_arguments, given_parameters
from mosaic_worker_cleanrl.plan.draft import ScriptPlan
from mosaic_worker_cleanrl.plan.length import measure_length
from mosaic_worker_cleanrl.plan.memory import check_memory
from mosaic_worker_cleanrl.plan.play import plan_play, play_facts
from mosaic_worker_cleanrl.plan.request import (
    check_acting,
    check_adaptation,
    check_packages,
    check_recording,
    check_request,
    check_spaces,
    pick_environment,
    pick_script,
)
from mosaic_worker_cleanrl.plan.start import check_warm_start, warm_start_facts
from mosaic_worker_cleanrl.plan.tracking import plan_tracking
from mosaic_worker_cleanrl.plan.video import check_clips, check_video
from mosaic_worker_cleanrl.schema.document import CHECKPOINT


def check_run(spec: RunSpec) -> CheckReport:
    """Say what a run would do and what is wrong with it. Nothing is started.

    Raises:
        ScriptMissing: the cleanrl package is not installed.
    """
    plan = make_plan(spec)
    shown: dict[str, Any] = {}
    if plan.script is not None and spec.kind.plays:
        shown = play_facts(spec, plan.script, plan)
    elif plan.script is not None:
        shown = {
            "script": plan.script.module,
            "path": plan.path.name if plan.path is not None else None,
            "argv": ["python", "-m", plan.script.module, *plan.argv],
            "parameters": plan.arguments,
            "environment": spec.environment,
            "wrappers": list(plan.wrappers),
            "seed": spec.seed,
            "asked_steps": plan.asked_steps,
            "total_steps": plan.total_steps,
            "first_update_step": plan.first_update_step,
            "checkpoint_every_steps": plan.checkpoint_every_steps,
            "record": spec.record.value,
            "replay_every": spec.replay_every,
            "threads": spec.cpus,
            "gym_shim": plan.script.imports("gym"),
            "gl": plan.gl,
            "packages": installed_packages(),
            **warm_start_facts(plan),
            **({} if plan.tracking is None else {"tracking": plan.tracking.shown()}),
        }
    return plan.report(shown)


def make_plan(spec: RunSpec) -> ScriptPlan:
    """Work out what a run would do; what is wrong with it is in the plan's findings.

    Raises:
        ScriptMissing: the cleanrl package is not installed.
    """
    plan = ScriptPlan()
    check_packages(plan)
    check_request(spec, plan)
    plan.script = pick_script(spec, plan)
    plan.probe = pick_environment(spec, plan)
    if plan.script is None:
        return plan
    plan.path = plan.script.source()
    check_spaces(plan.script, plan)
    if spec.kind.plays:
        check_acting(plan.script, plan)
        plan_play(spec, plan.script, plan)
        return plan
    check_adaptation(plan.script, plan)
    given = given_parameters(spec, plan)
    if not plan.is_blocked:
        fill_arguments(spec, given, plan)
    if not plan.is_blocked:
        measure_length(spec, plan.script, plan)
        plan_tracking(spec, given, plan)
        check_recording(spec, plan)
        check_memory(spec, plan.script, plan)
        check_video(plan)
        check_clips(spec, plan)
        check_warm_start(given.get(CHECKPOINT), spec, plan.script, plan)
    return plan
