"""Tracking by W&B: whether the run may be tracked, and how."""

from collections.abc import Mapping
from typing import Any

from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import ParameterValue, RunSpec
from mosaic_contracts.tracking import WANDB_SECRET, WANDB_SERVER
from mosaic_worker_cleanrl.environment.extras import TRACKER
from mosaic_worker_cleanrl.plan.draft import ScriptPlan
from mosaic_worker_cleanrl.plan.tracking_plan import TrackingPlan
from mosaic_worker_cleanrl.schema import tracking as names
from mosaic_worker_cleanrl.schema.document import TENSORBOARD

_WHERE = f"parameters.{names.TRACK}"
_OFFLINE = f"or track offline (`-p {names.MODE}=offline`)"


def plan_tracking(spec: RunSpec, given: Mapping[str, ParameterValue], plan: ScriptPlan) -> None:
    """Refuse tracking that could not work or was not agreed to; else write it into the plan."""
    if not plan.arguments.get(names.TRACK):
        return
    is_online = given.get(names.MODE) != "offline"
    if not TRACKER.is_installed:
        plan.block(
            _WHERE,
            f"Tracking needs {TRACKER.title}, which is not installed here. Run {TRACKER.install_command} and ask "
            "again, or leave `track` off: MOSAIC records every metric itself.",
            ProblemCode.WORKER_NOT_READY,
        )
        return
    if not plan.arguments[TENSORBOARD]:
        plan.block(
            f"parameters.{TENSORBOARD}",
            "W&B reads the curves from the script's TensorBoard files. Leave `tensorboard` on, or `track` off.",
            ProblemCode.PARAMETER_INVALID,
        )
    if is_online:
        _check_consent(spec, plan)
    proxies = {
        "HTTP_PROXY": given.get(names.HTTP_PROXY),
        "HTTPS_PROXY": given.get(names.HTTPS_PROXY),
    }
    plan.tracking = TrackingPlan(
        is_online=is_online,
        is_required=bool(given.get(names.REQUIRED)),
        server=str(given.get(names.SERVER) or WANDB_SERVER).rstrip("/"),
        proxies={name: str(address) for name, address in proxies.items() if address},
        init=_init_arguments(given),
    )
    if is_online and not plan.is_blocked:
        project = plan.arguments[names.PROJECT]
        entity = plan.arguments[names.ENTITY] or "the key's owner"
        plan.warn(
            _WHERE,
            f"Online: metrics, arguments, output, videos and facts about this machine are sent to "
            f"{plan.tracking.server}, project {project} of {entity}.",
        )


def _check_consent(spec: RunSpec, plan: ScriptPlan) -> None:
    if WANDB_SECRET not in spec.secrets:
        plan.block(
            _WHERE,
            f"Online tracking needs a key: `./mosaic secret set {WANDB_SECRET}`, and name it in `secrets` "
            f"(`--secret {WANDB_SECRET}`); {_OFFLINE}.",
            ProblemCode.PARAMETER_INVALID,
        )
    if not spec.internet:
        plan.block(
            _WHERE,
            f"Online tracking needs `internet` (`--set internet=true`), which you agree to separately; {_OFFLINE}.",
            ProblemCode.PARAMETER_INVALID,
        )


def _init_arguments(given: Mapping[str, ParameterValue]) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        "name": given.get(names.NAME),
        "group": given.get(names.GROUP),
        "notes": given.get(names.NOTES),
        "tags": [tag.strip() for tag in str(given.get(names.TAGS) or "").split(",") if tag.strip()],
    }
    return {name: value for name, value in chosen.items() if value}
