"""Writes a sealed zip, one entry after the other."""

import hashlib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import BinaryIO

from mosaic_base.sealed_zip.names import SUMS, is_safe_name

_DEFLATE_LEVEL = 1
"""The fastest: what is large is compressed by its own format."""


class ZipEntryWriter:
    """The open entry."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self.bytes = 0
        """Number of bytes written."""

    def write(self, data: bytes) -> int:
        """Append bytes."""
        self._digest.update(data)
        self.bytes += len(data)
        return self._file.write(data)

    @property
    def sha256(self) -> str:
        """Digest of all that was written, in hexadecimal digits."""
        return self._digest.hexdigest()


class SealedZipWriter:
    """A sealed zip in the making. It is none until `seal` was called.

    Use it in a `with` block that ends before the file is closed.

    Args:
        file: an empty file, open for writing.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._zip = zipfile.ZipFile(file, "w", compresslevel=_DEFLATE_LEVEL)
        self._sums: dict[str, str] = {}

    def __enter__(self) -> "SealedZipWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Without `seal`, what is written here ends a zip that nobody takes for a sealed one.
        with suppress(OSError):
            self._zip.close()

    @contextmanager
    def entry(self, name: str, *, compress: bool = False) -> Iterator[ZipEntryWriter]:
        """Write one entry; it is complete at the end of the block.

        Args:
            name: its name (`is_safe_name`).
            compress: deflate it. Otherwise it is stored as it is.

        Raises:
            ValueError: the name is not safe, or there is such an entry.
        """
        if not is_safe_name(name) or name == SUMS or name in self._sums:
            raise ValueError(f"{name!r} cannot be the name of another entry")
        self._zip.compression = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
        with self._zip.open(name, "w", force_zip64=True) as file:
            written = ZipEntryWriter(file)  # type: ignore[arg-type] # it writes bytes
            yield written
        self._sums[name] = written.sha256

    def add(self, name: str, data: bytes) -> None:
        """Write one small entry; arguments and errors as `entry`."""
        with self.entry(name, compress=True) as file:
            file.write(data)

    def data_offset(self, name: str) -> int:
        """Where the bytes of a complete entry that is not compressed begin in the file."""
        found = self._zip.getinfo(name)
        return found.header_offset + len(found.FileHeader(zip64=True))

    def seal(self) -> None:
        """Add the list of digests, and end the file."""
        sums = "".join(f"{digest}  {name}\n" for name, digest in self._sums.items())
        self._zip.compression = zipfile.ZIP_STORED
        self._zip.writestr(SUMS, sums)
        self._zip.close()
