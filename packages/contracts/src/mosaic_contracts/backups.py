"""What a backup says of the stack that it was made of (docs/backup.md)."""

from typing import Annotated

from pydantic import Field

from mosaic_contracts.launch import WallTime
from mosaic_contracts.models import PeerModel

BACKUP_FACTS = "mosaic-backup.json"
"""Name of the entry with a `BackupFacts`."""
BACKUP_INDEX = "files.jsonl"
"""Name of the entry that lists files, folders and links, one JSON object a line."""
BACKUP_CONTENT = "home/"
"""Beginning of the names of all entries with content."""
BACKUP_VERSION = 1


class StoredSeq(PeerModel):
    """How far one source of a run is in the copy of the store."""

    attempt: Annotated[int, Field(ge=1)]
    source: str
    last_seq: Annotated[int, Field(ge=0)]


class BackupFacts(PeerModel):
    """Content of `mosaic-backup.json`."""

    version: int = BACKUP_VERSION
    id: str
    made_at: WallTime
    """When the copy was begun, seconds since the epoch: runs are copied as of then or a little later."""
    host: str
    """Name of the machine."""
    mosaic: str
    """Version of MOSAIC."""
    runs: int = 0
    """Number of runs, deleted ones that can still be restored included."""
    live: list[str] = Field(default_factory=list)
    """Ids of the runs that had processes."""
    files: int = 0
    bytes: int = 0
    """Size of all files."""
    with_secrets: bool = False
    """Whether the values of the user's secrets and the gateway's token are in it."""
    secrets: list[str] = Field(default_factory=list)
    """Names of the user's secrets."""
    left_out: list[str] = Field(default_factory=list)
    """What was in the data root and is not in the backup: paths, with the reason where there is one to know."""
    stored: dict[str, list[StoredSeq]] = Field(default_factory=dict)
    """By run id: how far its sources are in the copy of the store."""


class RestoredStack(PeerModel):
    """Content of `db/restored.json`."""

    v: int = 1
    backup_id: str
    made_at: WallTime
    host: str
    restored_at: WallTime
    stored: dict[str, list[StoredSeq]] = Field(default_factory=dict)
    """As in `BackupFacts`, until the scheduler has compared its own records with it."""
    is_taken_over: bool = False
    """Whether the scheduler has done so."""
    lost: dict[str, int] = Field(default_factory=dict)
    """By run id: the attempt that had processes when the backup was made."""
