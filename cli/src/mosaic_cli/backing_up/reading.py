"""Reads a backup of unknown origin: what it holds, and whether it may be restored."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mosaic_base.sealed_zip import SealedZip, SealedZipInvalid, ZipLimits
from mosaic_cli.backing_up.writing import link_stays_inside
from mosaic_cli.errors import BackupRefused, FileProblem
from mosaic_contracts.backups import (
    BACKUP_CONTENT,
    BACKUP_FACTS,
    BACKUP_INDEX,
    BACKUP_VERSION,
    BackupFacts,
)
from mosaic_contracts.compat import StrEnum
from mosaic_contracts.fault import fault_place, fault_text
from mosaic_contracts.stack_files import BACKED_UP, SCHEDULER_DB

_LIMITS = ZipLimits(max_entries=2_000_000, max_directory_bytes=2**30)
_MAX_FACTS_BYTES = 256 * 2**20
_MAX_LINE_BYTES = 2**16
_MAX_PATH_BYTES = 4096


class ItemType(StrEnum):
    """What a path of a backup is."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"


class BackupItem(BaseModel):
    """A line of the index."""

    model_config = ConfigDict(extra="ignore", strict=True)

    path: str
    type: str
    mode: int = Field(default=0, ge=0, le=0o7777)
    mtime_ns: int = Field(default=0, ge=0, lt=2**63)
    entry: str | None = None
    """Entry with the content, where it is not called like the file."""
    target: str = ""
    """Where a link leads to."""

    @property
    def content(self) -> str:
        """Name of the entry with the file's content."""
        return BACKUP_CONTENT + self.path if self.entry is None else self.entry


@dataclass(frozen=True)
class OpenBackup:
    """A backup whose structure was checked. Its contents are compared with their digests as they are read."""

    facts: BackupFacts
    items: list[BackupItem]
    """In the order of the index; a folder comes before what is in it."""
    zip: SealedZip

    @property
    def bytes(self) -> int:
        """Size of all files, as the zip itself declares it."""
        return sum(self.zip.size(item.content) for item in self.items if item.type == ItemType.FILE)


@contextmanager
def opened_backup(path: Path) -> Iterator[OpenBackup]:
    """Open a backup.

    Raises:
        BackupRefused: it is none, or was truncated or altered.
        FileProblem: it cannot be read.
    """
    try:
        with SealedZip(path, _LIMITS) as archive:
            if BACKUP_FACTS not in archive.sums:
                raise BackupRefused(
                    f"{path} is a zip of something else, no backup. `./mosaic backup FILE` makes one."
                )
            facts = _facts(archive, path)
            items = list(_items(archive))
            _require_all(archive, items)
            yield OpenBackup(facts, items, archive)
    except SealedZipInvalid as error:
        raise refused(path, str(error)) from error
    except OSError as error:
        if error.filename is not None and Path(error.filename) != path:
            raise
        raise FileProblem(f"{path} cannot be read ({error.strerror or error}).") from error


def refused(path: Path, why: str) -> BackupRefused:
    """The refusal of a file, in words."""
    return BackupRefused(
        f"{path} is no whole backup: {why}. It is truncated, or was altered after it was made. Copy it again, or take "
        "an older backup. Nothing was restored."
    )


def _facts(archive: SealedZip, path: Path) -> BackupFacts:
    try:
        facts = BackupFacts.model_validate_json(archive.read(BACKUP_FACTS, _MAX_FACTS_BYTES))
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise SealedZipInvalid(
            f"{BACKUP_FACTS}: {fault_place(fault)} {fault_text(fault)}"
        ) from error
    if facts.version > BACKUP_VERSION:
        raise BackupRefused(
            f"{path} was made by MOSAIC {facts.mosaic} in version {facts.version} of the format; this MOSAIC reads "
            f"versions up to {BACKUP_VERSION}. Update it. Nothing was restored."
        )
    return facts


def _items(archive: SealedZip) -> Iterator[BackupItem]:
    paths: set[str] = set()
    for line in _lines(archive):
        try:
            # not pydantic's own parser, which refuses surrogates: names on a disk may have any bytes
            item = BackupItem.model_validate(json.loads(line))
        except ValueError as error:
            raise SealedZipInvalid(f"a line of {BACKUP_INDEX} cannot be read") from error
        if not _may_be_restored(item) or item.path in paths:
            raise SealedZipInvalid(f"{item.path[:120]!r} is no {item.type[:20]} of a data root")
        paths.add(item.path)
        yield item


def _lines(archive: SealedZip) -> Iterator[bytes]:
    rest = b""
    for piece in archive.pieces(BACKUP_INDEX):
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines
        if len(rest) > _MAX_LINE_BYTES:
            break
    if rest:
        raise SealedZipInvalid(f"a line of {BACKUP_INDEX} does not end")


def _may_be_restored(item: BackupItem) -> bool:
    parts = item.path.split("/")
    try:
        length = len(os.fsencode(item.path))
    except UnicodeEncodeError:
        return False
    is_inside = parts[0] in BACKED_UP and {"", ".", ".."}.isdisjoint(parts)
    if not is_inside or "\0" in item.path or length > _MAX_PATH_BYTES:
        return False
    if item.type == ItemType.LINK:
        return link_stays_inside(item.path, item.target)
    return item.type in (ItemType.FILE, ItemType.FOLDER)


def _require_all(archive: SealedZip, items: list[BackupItem]) -> None:
    """Check that each entry is the content of exactly one file."""
    contents = [item.content for item in items if item.type == ItemType.FILE]
    if sorted(contents) != sorted(archive.sums.keys() - {BACKUP_FACTS, BACKUP_INDEX}):
        raise SealedZipInvalid(f"{BACKUP_INDEX} does not list exactly what is in it")
    if BACKUP_CONTENT + SCHEDULER_DB not in contents:
        raise SealedZipInvalid(f"{SCHEDULER_DB} is missing")
