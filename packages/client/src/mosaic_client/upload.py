"""One file on its way to a stack: opened and checked once, sent again from its start where a connection breaks."""

import asyncio
import os
import re
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import TracebackType

from mosaic_client.errors import FileUnusable
from mosaic_contracts.checkpoint_words import MAX_CHECKPOINT_BYTES
from mosaic_contracts.compat import Self

PIECE_BYTES = 2**20
# O_NONBLOCK: a FIFO that took the file's place would wait for a writer. O_BINARY: Windows would change line ends.
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_UNSENT = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
"""Control characters, and what Python makes of bytes that are no text."""
_KINDS = {
    stat.S_IFDIR: "a folder; name the file in it",
    stat.S_IFLNK: "a link; name the file that it leads to",
    stat.S_IFIFO: "a FIFO; write what comes out of it to a file, and name that",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class UploadedFile:
    """A regular file to send.

    Args:
        path: the file.
        what: what it is, for messages.
        max_bytes: size of the largest one that a stack takes.

    Raises:
        FileUnusable: it is not there, is no regular file, is empty, or is larger than a stack takes.
    """

    def __init__(
        self, path: Path, what: str = "a checkpoint", max_bytes: int = MAX_CHECKPOINT_BYTES
    ) -> None:
        self.name = _UNSENT.sub("_", path.name)
        """Name of the file, as it is sent: no text can hold some names that a disk can."""
        _require_file(path, what, max_bytes)
        try:
            self._fd = os.open(path, _READ)
        except OSError as error:
            raise FileUnusable(f"{path} cannot be read: {error.strerror}.") from error
        self._size = os.fstat(self._fd).st_size

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._fd)

    @property
    def size_bytes(self) -> int:
        """Size of the file."""
        return self._size

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the request."""
        return {"Content-Type": "application/octet-stream", "Content-Length": str(self._size)}

    def pieces(self, progress: Callable[[int], None] = lambda _: None) -> Iterator[bytes]:
        """Its bytes from the start.

        Args:
            progress: called with the number of bytes that were taken before.

        Raises:
            FileUnusable: it has become shorter since it was opened.
        """
        at = 0
        while at < self._size:
            progress(at)
            piece = self._read(at)
            at += len(piece)
            yield piece
        progress(at)

    async def pieces_async(self) -> AsyncIterator[bytes]:
        """As `pieces`, read in a thread."""
        at = 0
        while at < self._size:
            piece = await asyncio.to_thread(self._read, at)
            at += len(piece)
            yield piece

    def _read(self, at: int) -> bytes:
        os.lseek(self._fd, at, os.SEEK_SET)
        piece = os.read(self._fd, min(PIECE_BYTES, self._size - at))
        if not piece:
            raise FileUnusable(
                f"{self.name} became shorter while it was sent. Wait until it is written, and import it again."
            )
        return piece


def _require_file(path: Path, what: str, max_bytes: int) -> None:
    try:
        found = path.lstat()
    except OSError as error:
        raise FileUnusable(f"{path} cannot be read: {error.strerror}.") from error
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "no regular file")
        raise FileUnusable(f"{path} is {kind}.")
    if not found.st_size:
        raise FileUnusable(f"{path} is empty. Copy it again from where it comes from.")
    if found.st_size > max_bytes:
        raise FileUnusable(
            f"{path} has {found.st_size / 2**30:.1f} GiB; {what} has at most {max_bytes // 2**30:,} GiB."
        )
