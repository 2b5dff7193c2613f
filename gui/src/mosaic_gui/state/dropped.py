"""What files are that were dropped on the window, by their beginnings and names."""

from enum import StrEnum
from pathlib import Path

from mosaic_contracts.archive_words import ARCHIVE_HEAD
from mosaic_contracts.checkpoint_words import EXPORT_FACTS

_HEAD_BYTES = 30
"""Bytes of a zip before the name of its first entry."""
_EVENT_FILE = "tfevents"
_WANDB_LOG = ".wandb"
_DATABASE = "mlflow.db"
_SPECS = frozenset({".yaml", ".yml", ".json"})
_CHECKPOINTS = frozenset({".cleanrl_model", ".safetensors", ".pt", ".pth"})


class Dropped(StrEnum):
    """What a dropped file is."""

    RUNS = "runs"
    """An archive, or files of TensorBoard, W&B or mlflow; a folder, too."""
    CHECKPOINT = "checkpoint"
    SPEC = "spec"
    """A run, a group or a sweep as YAML or JSON."""
    UNKNOWN = "unknown"


def kind_of_dropped(path: Path) -> Dropped:
    """What a file or folder is.

    Raises:
        OSError: it cannot be read.
    """
    if path.is_dir():
        return Dropped.RUNS
    if path.suffix == _WANDB_LOG or path.name == _DATABASE or _EVENT_FILE in path.name:
        return Dropped.RUNS
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES + max(len(ARCHIVE_HEAD), len(EXPORT_FACTS)))[_HEAD_BYTES:]
    if head.startswith(EXPORT_FACTS.encode()) or path.suffix in _CHECKPOINTS:
        return Dropped.CHECKPOINT
    if path.suffix.lower() in _SPECS:
        return Dropped.SPEC
    return Dropped.RUNS if head.startswith(ARCHIVE_HEAD.encode()) else Dropped.UNKNOWN
