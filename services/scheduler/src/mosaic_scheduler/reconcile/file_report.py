"""Looks at the folder of a run that has ended: which files it has, with their digests."""

import time
from collections.abc import Callable
from pathlib import Path

from mosaic_base.file_tree import FILE, FoundFile, hash_file, list_files
from mosaic_contracts.manifest import MAX_LISTED, PRIVATE_DIRS, FileReport, ReportedFile, kind_of
from mosaic_contracts.manifest_words import FileType

MAX_REPORT_BYTES = 2**20
"""Maximum size of a report's paths and facts: it is one event."""
_FACTS_BYTES = 200
"""Size of an entry without its path, rounded up."""
MAX_HASHED_BYTES = 2**37
"""Maximum size of a file that is hashed: a sparse file may claim more than any disk has."""

FileVersion = tuple[bytes, int, int]
"""Path, size and time of the last change: an equal one is not hashed again."""


class HashBudget:
    """Bounds how much one look hashes."""

    def __init__(self, max_bytes: float, max_s: float, is_over: Callable[[], bool]) -> None:
        """`is_over`: also asked; when it says so, nothing more is hashed."""
        self.refused = 0
        """Number of files that were not hashed because of the bounds."""
        self._bytes = max_bytes
        self._ends_at = time.monotonic() + max_s
        self._is_over = is_over

    @property
    def is_spent(self) -> bool:
        """Whether nothing more may be hashed."""
        return time.monotonic() >= self._ends_at or self._is_over()

    def take(self, size: int) -> bool:
        """Take the bytes of one file; False: there are not as many left."""
        if size > self._bytes or self.is_spent:
            self.refused += 1
            return False
        self._bytes -= size
        return True

    def give_up(self) -> None:
        """Note that a file was not read to its end, if that was because of the bounds."""
        self.refused += self.is_spent


def look_at(folder: Path, known: dict[FileVersion, str], budget: HashBudget) -> FileReport:
    """List and hash the files of a run. Blocks: call it in a thread.

    Args:
        folder: the run's folder.
        known: digests of file versions; new ones are added.
        budget: what may be hashed.

    Raises:
        OSError: the folder is not there or may not be read.
    """
    tree = list_files(folder, PRIVATE_DIRS, MAX_LISTED)
    report = FileReport(
        files=[], unlisted_files=tree.unlisted_files, unlisted_bytes=tree.unlisted_bytes
    )
    room = MAX_REPORT_BYTES
    for found in tree.files:
        room -= _FACTS_BYTES + 3 * len(found.name)
        if room < 0:
            report.unlisted_files += 1
            report.unlisted_bytes += found.bytes
            continue
        report.files.append(_reported(found, _digest(folder, found, known, budget)))
    report.unhashed = budget.refused
    return report


def _digest(
    folder: Path, found: FoundFile, known: dict[FileVersion, str], budget: HashBudget
) -> str | None:
    if found.type != FILE or found.bytes > MAX_HASHED_BYTES:
        return None
    version = (found.name, found.bytes, found.mtime_us)
    if version not in known and budget.take(found.bytes):
        digest = hash_file(folder, found, lambda: budget.is_spent)
        if digest is None:
            budget.give_up()
        else:
            known[version] = digest
    return known.get(version)


def _reported(found: FoundFile, digest: str | None) -> ReportedFile:
    return ReportedFile(
        path=found.path,
        kind=kind_of(found.path),
        bytes=found.bytes,
        mtime_us=found.mtime_us,
        sha256=digest,
        type=FileType(found.type),
        name_hex=None if found.is_utf8 else found.name.hex(),
    )
