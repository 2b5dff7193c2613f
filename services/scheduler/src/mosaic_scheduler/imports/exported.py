"""Reads an exported checkpoint: a zip with the file and `mosaic-checkpoint.json` (ADR 0019).

Its parts are not compressed, so that nobody can send a small file that becomes a large one.
"""

import hashlib
import os
import zipfile
from pathlib import Path
from typing import BinaryIO, NamedTuple

from pydantic import ValidationError

from mosaic_contracts.checkpoint_words import EXPORT_FACTS
from mosaic_contracts.exported import EXPORT_VERSION, ExportedCheckpoint
from mosaic_contracts.fault import fault_place, fault_text
from mosaic_scheduler.errors import FileRefused
from mosaic_scheduler.imports.folder import copy_bounded, safe_name

MOST_FACTS_BYTES = 2**20
_MOST_DIRECTORY_BYTES = 2**16
"""Size of a zip's list of files, which `zipfile` reads at once."""
_LOCAL, _END, _LONG_END = b"PK\x03\x04", b"PK\x05\x06", b"PK\x06\x07"
_LOCAL_BYTES, _END_BYTES, _LONG_END_BYTES = 30, 22, 20
_AGAIN = "Copy it again, or export it again."


class Unpacked(NamedTuple):
    """A checkpoint that was in an export."""

    path: Path
    sha256: str
    bytes: int
    facts: ExportedCheckpoint


def is_export(path: Path) -> bool:
    """Whether a file begins as an exported checkpoint does."""
    with path.open("rb") as file:
        head = file.read(_LOCAL_BYTES + len(EXPORT_FACTS))
    return head.startswith(_LOCAL) and head[_LOCAL_BYTES:] == EXPORT_FACTS.encode()


def unpack(path: Path, folder: Path) -> Unpacked:
    """Write the checkpoint of an export into a folder, and compare it with its facts.

    Raises:
        FileRefused: it is truncated, altered, or of a newer version.
        OSError: the disk refused.
    """
    with path.open("rb") as file:
        _require_directory(file)
        try:
            with zipfile.ZipFile(file) as archive:
                return _unpack(archive, folder)
        except (
            zipfile.BadZipFile,
            EOFError,
            NotImplementedError,
            RuntimeError,
            UnicodeDecodeError,
        ) as error:
            raise _altered(str(error)) from error


def _require_directory(file: BinaryIO) -> None:
    """Check the end of a zip before `zipfile` believes it."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _END_BYTES - _LONG_END_BYTES))
    end = file.read()
    file.seek(0)
    before, last = end[:-_END_BYTES], end[-_END_BYTES:]
    if not last.startswith(_END):
        raise FileRefused(f"The exported checkpoint is truncated: its end is missing. {_AGAIN}")
    directory = int.from_bytes(last[12:16], "little")
    if before.startswith(_LONG_END) or directory > _MOST_DIRECTORY_BYTES:
        raise _altered("it lists more than a checkpoint and its facts")


def _unpack(archive: zipfile.ZipFile, folder: Path) -> Unpacked:
    entries = {entry.filename: entry for entry in archive.infolist()}
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries.values()):
        raise FileRefused(
            "The exported checkpoint was packed again by another program, which compressed it. Import the file as "
            "`./mosaic checkpoints export` wrote it, or unpack it and import the checkpoint in it."
        )
    first = entries.get(EXPORT_FACTS)
    if first is None or any(entry.header_offset < 0 for entry in entries.values()):
        raise _altered("its list of files is not as it was written")
    facts = _read_facts(archive, first)
    entry = entries.get(facts.file)
    if (
        entry is None
        or len(entries) != 2
        or len(archive.infolist()) != 2
        or facts.file == EXPORT_FACTS
    ):
        raise _altered("it does not hold exactly a checkpoint and its facts")
    digest = hashlib.sha256()
    target = folder / safe_name(facts.file)
    with archive.open(entry) as source:
        size = copy_bounded(source, target, entry.file_size, digest.update)  # type: ignore[arg-type] # it reads bytes
    if digest.hexdigest() != facts.checkpoint.sha256 or size != facts.checkpoint.bytes:
        raise _altered("its SHA-256 is not that of the exporting stack")
    return Unpacked(target, digest.hexdigest(), size, facts)


def _read_facts(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> ExportedCheckpoint:
    if entry.file_size > MOST_FACTS_BYTES:
        raise _altered(f"its facts have more than {MOST_FACTS_BYTES // 2**20} MiB")
    with archive.open(entry) as source:
        text = source.read(MOST_FACTS_BYTES + 1)
    try:
        facts = ExportedCheckpoint.model_validate_json(text)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise _altered(f"{fault_place(fault) or EXPORT_FACTS} {fault_text(fault)}") from error
    if facts.version > EXPORT_VERSION:
        raise FileRefused(
            f"The exported checkpoint has version {facts.version} of the format; this stack reads versions up to "
            f"{EXPORT_VERSION}. Update this stack, or export it from an older one."
        )
    return facts


def _altered(why: str) -> FileRefused:
    return FileRefused(f"The exported checkpoint was altered after it was written: {why}. {_AGAIN}")
