"""Reads a sealed zip of unknown origin. Nothing in it is believed before it was compared with the bytes."""

import hashlib
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from mosaic_base.sealed_zip.names import SUMS, SealedZipInvalid, is_safe_name

_END, _LONG_END, _LOCATOR = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_END_BYTES, _LONG_END_BYTES, _LOCATOR_BYTES = 22, 56, 20
_LOCAL_BYTES, _CENTRAL_BYTES = 30, 46
_UTF8_FLAG = 0x800
_REFUSED_FLAGS = 0x1 | 0x20 | 0x40 | 0x2000
"""Encryption and patches."""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_SUM = re.compile(r"([0-9a-f]{64})  (.+)")
_PIECE_BYTES = 2**20
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, UnicodeDecodeError)


@dataclass(frozen=True)
class ZipLimits:
    """Bounds of what is read into memory."""

    max_entries: int = 100_000
    max_directory_bytes: int = 64 * 2**20
    """Size of the zip's own directory, and of the list of digests."""


class SealedZip:
    """A sealed zip whose structure was checked. Digests are compared while an entry is read.

    Args:
        path: the file.
        limits: bounds of what is read into memory.

    Raises:
        SealedZipInvalid: it is none, or it was truncated or altered.
        OSError: it cannot be read.
    """

    def __init__(self, path: Path, limits: ZipLimits = ZipLimits()) -> None:
        self._limits = limits
        self._file = path.open("rb")
        try:
            end = _directory_end(self._file, limits)
            self._entries = self._checked(end)
            self.sums = self._read_sums()
            """Digest of each entry, in the order of the file."""
        except _BROKEN as error:
            self._file.close()
            raise SealedZipInvalid(f"its structure is damaged ({error})") from error
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> "SealedZip":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def size(self, name: str) -> int:
        """Number of bytes that an entry has when it is unpacked, as the zip declares."""
        return self._found(name).file_size

    def pieces(self, name: str) -> Iterator[bytes]:
        """Read an entry piece by piece. Only after the last piece is it known that all of them are right.

        Raises:
            SealedZipInvalid: there is no such entry, or it is not what its digest says.
        """
        entry = self._found(name)
        digest, size = hashlib.sha256(), 0
        try:
            with self._zip.open(entry) as file:
                while piece := file.read(_PIECE_BYTES):
                    digest.update(piece)
                    size += len(piece)
                    yield piece
        except _BROKEN as error:
            raise SealedZipInvalid(f"{_shown(name)} is damaged ({error})") from error
        if size != entry.file_size or digest.hexdigest() != self.sums.get(name):
            raise SealedZipInvalid(f"{_shown(name)} is not what its SHA-256 says")

    def read(self, name: str, max_bytes: int) -> bytes:
        """Read a small entry.

        Raises:
            SealedZipInvalid: as `pieces`, or it has more than `max_bytes`.
        """
        if self.size(name) > max_bytes:
            raise SealedZipInvalid(f"{_shown(name)} has more than {max_bytes:,} bytes")
        return b"".join(self.pieces(name))

    def verify(self) -> Iterator[int]:
        """Read everything, and compare it. Yields the number of bytes after each piece.

        Raises:
            SealedZipInvalid: something is not what its digest says.
        """
        for name in self.sums:
            for piece in self.pieces(name):
                yield len(piece)

    def _found(self, name: str) -> zipfile.ZipInfo:
        entry = self._entries.get(name)
        if entry is None:
            raise SealedZipInvalid(f"{_shown(name)} is missing")
        return entry

    def _checked(self, end: int) -> dict[str, zipfile.ZipInfo]:
        """All entries by name, in the order of the file."""
        self._zip = zipfile.ZipFile(self._file)
        ordered = sorted(self._zip.infolist(), key=lambda entry: entry.header_offset)
        position = 0
        for entry in ordered:
            _require_plain(entry)
            if entry.header_offset < position or (not position and entry.header_offset):
                raise SealedZipInvalid(f"{_shown(entry.filename)} overlaps another entry")
            position = (
                entry.header_offset
                + _LOCAL_BYTES
                + len(entry.filename.encode())
                + entry.compress_size
            )
            if position > end:
                raise SealedZipInvalid(f"{_shown(entry.filename)} goes beyond the end")
        entries = {entry.filename: entry for entry in ordered}
        if len(entries) != len(ordered):
            raise SealedZipInvalid("two entries have the same name")
        _require_no_file_above(entries)
        if not ordered or ordered[-1].filename != SUMS:
            raise SealedZipInvalid(f"the list of digests, {SUMS}, is not its last entry")
        return entries

    def _read_sums(self) -> dict[str, str]:
        entry = self._entries[SUMS]
        if entry.file_size > self._limits.max_directory_bytes:
            raise SealedZipInvalid(f"{SUMS} is too large")
        try:
            lines = self._zip.read(entry).decode().splitlines()
        except UnicodeDecodeError as error:
            raise SealedZipInvalid(f"{SUMS} is no text") from error
        found = [_SUM.fullmatch(line) for line in lines]
        sums = {match[2]: match[1] for match in found if match is not None}
        if len(sums) != len(lines) or sums.keys() != self._entries.keys() - {SUMS}:
            raise SealedZipInvalid(f"{SUMS} does not list exactly the other entries")
        return {name: sums[name] for name in self._entries if name != SUMS}


def _directory_end(file: BinaryIO, limits: ZipLimits) -> int:
    """Check the end of a zip before `zipfile` believes it, and return where its directory begins."""
    size = os.fstat(file.fileno()).st_size
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        raise SealedZipInvalid("it is no regular file")
    tail_bytes = min(size, _END_BYTES + _LOCATOR_BYTES + _LONG_END_BYTES)
    file.seek(size - tail_bytes)
    tail = file.read()
    file.seek(0)
    last = tail[-_END_BYTES:]
    if len(last) < _END_BYTES or not last.startswith(_END) or last[20:] != b"\0\0":
        raise SealedZipInvalid("its end is missing")
    count, length, start = (
        int.from_bytes(last[a:b], "little") for a, b in ((10, 12), (12, 16), (16, 20))
    )
    end = size - _END_BYTES
    locator = tail[-_END_BYTES - _LOCATOR_BYTES : -_END_BYTES]
    if locator.startswith(_LOCATOR):
        long_end = tail[: -_END_BYTES - _LOCATOR_BYTES]
        if len(long_end) != _LONG_END_BYTES or not long_end.startswith(_LONG_END):
            raise SealedZipInvalid("its end is damaged")
        count, length, start = (
            int.from_bytes(long_end[a:b], "little") for a, b in ((32, 40), (40, 48), (48, 56))
        )
        end -= _LOCATOR_BYTES + _LONG_END_BYTES
    if length > limits.max_directory_bytes or count > limits.max_entries:
        raise SealedZipInvalid(f"it claims {count:,} entries, more than are read")
    if start + length != end or count * _CENTRAL_BYTES > length:
        raise SealedZipInvalid("its directory is not where its end says")
    return start


def _require_plain(entry: zipfile.ZipInfo) -> None:
    name = entry.filename
    kind = stat.S_IFMT(entry.external_attr >> 16)
    is_text = entry.flag_bits & _UTF8_FLAG or name.isascii()
    if entry.orig_filename != name or not is_text or not is_safe_name(name):
        raise SealedZipInvalid(f"{_shown(entry.orig_filename)} is no name that an entry may have")
    if kind not in (0, stat.S_IFREG):
        raise SealedZipInvalid(f"{_shown(name)} is no regular file")
    if entry.flag_bits & _REFUSED_FLAGS or entry.compress_type not in _METHODS:
        raise SealedZipInvalid(f"{_shown(name)} was packed by another program")
    if entry.compress_type == zipfile.ZIP_STORED and entry.compress_size != entry.file_size:
        raise SealedZipInvalid(f"{_shown(name)} has two sizes")


def _require_no_file_above(names: dict[str, zipfile.ZipInfo]) -> None:
    for name in names:
        above = name
        while "/" in above:
            above = above.rpartition("/")[0]
            if above in names:
                raise SealedZipInvalid(f"{_shown(above)} is a file and a folder")


def _shown(name: str) -> str:
    return repr(name[:120])
