"""Words of the manifest of a run, for programs that read it without pydantic."""

from mosaic_contracts.compat import StrEnum

RUN_FILES = "run.files"
"""Type of the event in which the scheduler records what a run's folder has after its end, with a `FileReport`."""


class FileType(StrEnum):
    """What lies at a path."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    """A link, wherever it leads: it is not followed, and what it leads to is no part of the run."""
    SPECIAL = "special"
    """A FIFO, a socket or a device."""


class FileState(StrEnum):
    """What became of a file of a run."""

    PRESENT = "present"
    CHANGED = "changed"
    """It is there with another content than the run announced, or than its folder had after its end."""
    MISSING = "missing"
    """It is not there, and no event says that it was deleted."""
    PRUNED = "pruned"
    """It was deleted on purpose; `reason` says why."""

    @property
    def is_there(self) -> bool:
        """Whether the file can be read."""
        return self in (FileState.PRESENT, FileState.CHANGED)


class LinkKind(StrEnum):
    """What belongs to a run and is no file of it."""

    TRACKER = "tracker"
    """The run at W&B, as the run itself reported."""
    DASHBOARD = "dashboard"
    """A TensorBoard that shows the run now."""
    STUDY = "study"
    """The study of the sweep that the run is, or is a trial of."""
