"""Answer of `describe`. Never imports torch: a client waits for it."""

from typing import Any

from mosaic_contracts.spec import RecordLevel, RunKind
from mosaic_contracts.tracking import WANDB
from mosaic_contracts.worker import Algorithm, WorkerDescription
from mosaic_worker_cleanrl import VERSION
from mosaic_worker_cleanrl.algorithm import SCRIPTS, Script
from mosaic_worker_cleanrl.checkout import script_source
from mosaic_worker_cleanrl.documentation import documentation_of
from mosaic_worker_cleanrl.environment.catalog import list_environments
from mosaic_worker_cleanrl.environment.extras import (
    TRACKER,
    extra_named,
    extra_of,
    is_offered,
    known_environments,
)
from mosaic_worker_cleanrl.packages import installed_packages
from mosaic_worker_cleanrl.schema.document import parameter_schema
from mosaic_workerkit.sync import can_send

SEED = "seed"
ENVIRONMENT = "env_id"
STEPS = "total_timesteps"
MODES = (RunKind.TRAIN, RunKind.EVALUATE, RunKind.PLAY, RunKind.REPLAY, RunKind.DASHBOARD)
_NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}
HYBRID = "hybrid"
"""Mode in which a policy and a person act."""


def describe_worker() -> WorkerDescription:
    """Return everything a client needs to build its forms.

    Raises:
        ScriptMissing: the cleanrl package is not installed.
        SchemaUnreadable: the arguments of an installed script cannot be read.
    """
    return WorkerDescription(
        worker=script_source().worker,
        version=VERSION,
        title=_title(),
        summary="Single-file reinforcement-learning algorithms, run as their authors wrote them.",
        modes=[*(kind.value for kind in MODES), RunKind.IMPORT.value, *_sync(), HYBRID],
        record_levels=[level.value for level in RecordLevel],
        algorithms=[_describe_script(script) for script in SCRIPTS.values()],
        environments=list_environments(),
        packages=installed_packages(),
        tracking=[WANDB] if TRACKER.is_installed else [],
    )


def _title() -> str:
    checkout = script_source().checkout
    return "CleanRL" if checkout is None else f"CleanRL in {checkout.name}"


def _sync() -> list[str]:
    return [RunKind.SYNC.value] if can_send() else []


def _describe_script(script: Script) -> Algorithm:
    readable = script.has_parameters
    schema = parameter_schema(script.source()) if readable else _NO_PARAMETERS
    unavailable, extra = script.unavailable, extra_named(script.bundle)
    acts = script.acts and not unavailable
    return Algorithm(
        id=script.id,
        title=script.title,
        summary=script.summary,
        documentation=documentation_of(script),
        parameters=schema,
        action_spaces=list(script.action_spaces),
        observation_spaces=list(script.observation_spaces),
        default_environment=_default_environment(
            script, schema["properties"].get(ENVIRONMENT, {}).get("default", "")
        ),
        steps_parameter=STEPS if readable else None,
        seed_parameter=SEED if readable else None,
        environment_parameter=ENVIRONMENT if readable else None,
        warm_start=not unavailable,
        resumes=False,
        play=acts,
        hybrid=acts,
        branches=acts,
        bundle=None if extra is None else extra.name,
        install="" if extra is None or extra.is_installed else extra.install_command,
        unavailable=unavailable,
    )


def _default_environment(script: Script, default: str) -> str | None:
    """The script's own, where it can be made: a form that is sent as it comes should start."""
    spec = known_environments().get(default)
    if script.unavailable or spec is None:
        return None
    extra = extra_of(spec)
    can_be_made = is_offered(spec) and (extra is None or extra.is_installed)
    if can_be_made or script.without_extra is None:
        return default
    return script.without_extra
