"""Words of stored files and of retention, for programs that read them without pydantic."""

from mosaic_contracts.compat import StrEnum

PROFILES_FILE = "storage_profiles.yaml"
"""File with storage profiles, below MOSAIC_HOME. The user writes it."""
TRASH_DIR = "trash"
"""Folder below MOSAIC_HOME in which removed files rest until their grace time is over."""
STEPS = "steps"
"""Kind of the step events in the store."""
ORPHAN = "orphan"
"""Kind of a folder below `runs` that belongs to no run."""
DRAFT = "draft"
"""Kind of a file that was not written to its end."""
FILE_RESTORED = "run.restored"
"""Type of the event by which the scheduler says that a pruned file is back: `{"path", "kind", "bytes"}`."""
PROTECTED_KINDS = frozenset({"record", "input"})
"""Kinds that no rule may name: what a run was asked to be, and what it began with."""

WHOLE_KINDS = frozenset({"tensorboard", "wandb", "study", "log"})
"""Kinds of which all files of a run count as one."""


class RuleScope(StrEnum):
    """What a rule counts together."""

    RUN = "run"
    """Files of one run."""
    GROUP = "group"
    """Files of all runs with the same worker, algorithm and environment."""
    ALL = "all"
    """Files of all runs."""


class KeptReason(StrEnum):
    """Why a file stays although a rule would remove it."""

    PINNED = "pinned"
    ARCHIVED = "archived"
    """The user deleted the run, which can be restored within a day."""
    NOT_ENDED = "not_ended"
    PENDING = "pending"
    """Events of the run, or the report of its files, are on their way to the store."""
    IN_USE = "in_use"
    """A run that has not ended uses this run: it plays, evaluates, replays, shows or sends it."""
    TRIAL = "trial"
    """The run is a trial of a sweep that has not ended."""
    PARENT = "parent"
    """Another run began with this checkpoint."""
    RESTORED = "restored"
    """The user brought the file back from the trash."""
    OPEN = "open"
    """A program has the file open."""
    UNWRITABLE = "unwritable"
    """The file cannot be moved."""


class VolumeLevel(StrEnum):
    """How much is free on a volume."""

    OK = "ok"
    LOW = "low"
    CRITICAL = "critical"
