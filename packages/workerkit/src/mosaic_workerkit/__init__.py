"""What the author of a worker imports: `from mosaic_workerkit import BaseWorker, EpisodeRecorder, main`.

Names are imported when they are first used: the runner lives in this package and must start on the standard library
alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mosaic_contracts.spec import RunSpec
    from mosaic_contracts.stored_spec import StoredSpec
    from mosaic_contracts.worker import (
        Algorithm,
        CheckReport,
        Environment,
        Finding,
        InspectedCheckpoint,
        InspectReport,
        InspectRequest,
        WorkerDescription,
    )
    from mosaic_workerkit.entry import TrainContext, main
    from mosaic_workerkit.episode_recorder import EpisodeRecorder
    from mosaic_workerkit.errors import RunRefused
    from mosaic_workerkit.findings import Findings
    from mosaic_workerkit.pace import Pace
    from mosaic_workerkit.parameters import (
        check_parameters,
        parameter,
        parameter_schema,
        with_defaults,
    )
    from mosaic_workerkit.spaces import box, discrete, space_of
    from mosaic_workerkit.stephash import step_hash
    from mosaic_workerkit.telemetry import Telemetry
    from mosaic_workerkit.worker import BaseWorker, package_versions

_MODULES = {
    "mosaic_contracts.stored_spec": ("StoredSpec",),
    "mosaic_contracts.spec": ("RunSpec",),
    "mosaic_contracts.worker": (
        *("Algorithm", "CheckReport", "Environment", "Finding", "InspectReport", "InspectRequest"),
        *("InspectedCheckpoint", "WorkerDescription"),
    ),
    "mosaic_workerkit.entry": ("TrainContext", "main"),
    "mosaic_workerkit.episode_recorder": ("EpisodeRecorder",),
    "mosaic_workerkit.errors": ("RunRefused",),
    "mosaic_workerkit.findings": ("Findings",),
    "mosaic_workerkit.pace": ("Pace",),
    "mosaic_workerkit.parameters": (
        *("check_parameters", "parameter", "parameter_schema", "with_defaults"),
    ),
    "mosaic_workerkit.spaces": ("box", "discrete", "space_of"),
    "mosaic_workerkit.stephash": ("step_hash",),
    "mosaic_workerkit.telemetry": ("Telemetry",),
    "mosaic_workerkit.worker": ("BaseWorker", "package_versions"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Algorithm",
    "BaseWorker",
    "CheckReport",
    "Environment",
    "EpisodeRecorder",
    "Finding",
    "Findings",
    "InspectReport",
    "InspectRequest",
    "InspectedCheckpoint",
    "Pace",
    "RunRefused",
    "RunSpec",
    "StoredSpec",
    "Telemetry",
    "TrainContext",
    "WorkerDescription",
    "box",
    "check_parameters",
    "discrete",
    "main",
    "package_versions",
    "parameter",
    "parameter_schema",
    "space_of",
    "step_hash",
    "with_defaults",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
