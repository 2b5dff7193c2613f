"""Exported checkpoints: a file with its facts in one zip, to be imported on another stack (ADR 0019)."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints

from mosaic_contracts.checkpoints import CheckpointRow
from mosaic_contracts.field_checks import without_nul
from mosaic_contracts.id_fields import WorkerIdField
from mosaic_contracts.models import PeerModel, UserModel
from mosaic_contracts.spec import Name, ParameterValue, Tags

EXPORT_FORMAT: Literal["mosaic.checkpoint"] = "mosaic.checkpoint"
EXPORT_VERSION = 1
"""Newest version of the facts. A stack refuses a later one."""

FileName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=255, pattern=r"^[^/\x00-\x1f\x7f]+$"),
]
"""Name of a file, without a folder and without control characters."""
PlainName = Annotated[Name, AfterValidator(without_nul)]


class ImportQuery(UserModel):
    """Query of `POST /checkpoints`, whose body is the file."""

    file: FileName
    """Name of the file, for messages and for the path in the run's folder."""
    worker: WorkerIdField | None = None
    """Worker that the file is for; none: as an exported checkpoint says, else the worker that knows the file."""
    algorithm: PlainName | None = None
    """Algorithm that the policy is of, where the file does not say it."""
    environment: PlainName | None = None
    """Environment that the policy acts in, where the file does not say it."""
    name: PlainName | None = None
    """Display name of the run; none: made of environment, algorithm and date."""
    tag: Tags = Field(default_factory=list)
    """Tags of the run."""


class ExportedCheckpoint(PeerModel):
    """Content of `mosaic-checkpoint.json` in an exported checkpoint: what the stack knows of the file."""

    format: Literal["mosaic.checkpoint"] = EXPORT_FORMAT
    version: int = EXPORT_VERSION
    file: FileName
    """Name of the checkpoint in the zip."""
    checkpoint: CheckpointRow
    """Facts of the checkpoint. `run_id` and `path` are those of the exporting stack."""
    seed: int | None = None
    """Seed of its run."""
    parameters: dict[str, ParameterValue] = Field(default_factory=dict)
    """Parameters of its run, as they were asked for."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Every argument of the algorithm with its value, as the run recorded them."""
