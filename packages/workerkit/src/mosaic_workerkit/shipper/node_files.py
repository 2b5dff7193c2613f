"""Sends the files of a run to the stack when the folder is not the stack's: logs as they grow, all others whole.

A file is sent once it has not changed between two looks, and in the drain in any case. What cannot be sent is noted.
"""

import asyncio
import errno
import hashlib
import os
import secrets
import socket
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mosaic_contracts.launch import WORKER_LOG
from mosaic_contracts.nodes import (
    CHUNK_BYTES,
    LOGS,
    NOT_SHIPPED,
    WRITE_HEADER,
    FilePart,
    NodeVerb,
    WriteAnswer,
    is_shipped,
)
from mosaic_workerkit.errors import NodeRefused, NodeUnanswered
from mosaic_workerkit.shipper.left_files import LeftFiles, LeftReason
from mosaic_workerkit.shipper.log import log_event
from mosaic_workerkit.shipper.node_client import NodeClient

_EVENT_FILES = "tfevents"
_DRAFTS = (".draft", ".part", ".tmp")


@dataclass(frozen=True)
class _Version:
    size: int
    mtime_ns: int
    inode: int


class NodeFiles:
    """What of a run's files the stack has; it outlives a connection."""

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir
        self._seen: dict[str, _Version] = {}
        self._sent: dict[str, _Version] = {}
        self._refused: set[str] = set()
        self._grown: dict[str, int] = {}
        """Bytes that the stack has of files that grow."""
        self._left = LeftFiles()

    @property
    def has_left_any(self) -> bool:
        """Whether the last look left a file with data that the stack will not have."""
        return self._left.are_any

    def notes(self) -> list[str]:
        """What the run says of the files that the last look left on the node."""
        return self._left.notes(socket.gethostname())

    async def ship(self, client: NodeClient, attempt: int, claim: str, *, is_last: bool) -> None:
        """Send what is new.

        Args:
            client: to send with.
            attempt: of the run.
            claim: of the runner.
            is_last: nothing writes files any more. Drafts are sent too, and what is left out is noted.

        Raises:
            NodeRefused: the attempt has ended for the scheduler.
            NodeUnanswered: the scheduler does not answer, or a file changed during the last look; what was not sent
                comes next time.
        """
        left, changed = LeftFiles(), ""
        found = await asyncio.to_thread(lambda: dict(self._look(left, is_last=is_last)))
        for path, version in found.items():
            before, self._seen[path] = self._seen.get(path), version
            if path in self._refused:
                left.add(path, LeftReason.REFUSED)
                continue
            if self._sent.get(path) == version or not (
                _grows(path) or is_last or before == version
            ):
                continue
            try:
                is_sent = await self._send_file(client, attempt, claim, path, version)
            except NodeRefused as error:
                if error.is_over:
                    raise
                self._refused.add(path)
                left.add(path, LeftReason.REFUSED)
                log_event("file.refused", path=path, error=str(error))
            except FileNotFoundError:
                continue  # removed in this moment
            except OSError as error:
                left.add(path, LeftReason.UNREADABLE)
                if is_last:
                    log_event("file.unreadable", path=path, error=str(error))
            else:
                if is_sent:
                    self._sent[path] = version
                else:
                    changed = path
        self._left = left
        if is_last and changed:
            raise NodeUnanswered(f"{changed} changed while it was sent")

    async def _send_file(
        self, client: NodeClient, attempt: int, claim: str, path: str, version: _Version
    ) -> bool:
        """Send one file; False: it changed on the way, and another version is to be sent."""
        if _grows(path):
            await self._append(client, FilePart(attempt=attempt, claim=claim, path=path))
            return True
        part = FilePart(
            attempt=attempt,
            claim=claim,
            path=path,
            total=version.size,
            mtime_ns=version.mtime_ns,
        )
        return await self._whole(client, part)

    async def ask(self, client: NodeClient, attempt: int, claim: str) -> None:
        """Send no bytes of the log: the answer says whether the attempt still counts. Errors as `ship`."""
        await _send(client, FilePart(attempt=attempt, claim=claim, path=WORKER_LOG), b"")

    def _look(self, left: LeftFiles, *, is_last: bool) -> Iterator[tuple[str, _Version]]:
        def leave(error: OSError) -> None:
            if error.errno != errno.ENOENT:
                left.add(self._shown(Path(error.filename)), LeftReason.UNREADABLE)

        for folder, folders, names in os.walk(self._run_dir, onerror=leave):
            if Path(folder) == self._run_dir:
                folders[:] = [name for name in folders if name not in NOT_SHIPPED]
                names = [name for name in names if name not in NOT_SHIPPED]
            for name in (*names, *folders):
                path = Path(folder) / name
                try:
                    status = path.lstat()
                except OSError:
                    continue  # removed in this moment
                shown = self._shown(path)
                if stat.S_ISLNK(status.st_mode):
                    left.add(shown, LeftReason.LINK)
                elif not stat.S_ISREG(status.st_mode):
                    continue
                elif not is_shipped(shown):
                    left.add(shown, LeftReason.NAME)
                elif is_last or not name.endswith(_DRAFTS):
                    yield shown, _Version(status.st_size, status.st_mtime_ns, status.st_ino)

    def _shown(self, path: Path) -> str:
        return path.relative_to(self._run_dir).as_posix()

    async def _append(self, client: NodeClient, part: FilePart) -> None:
        with (self._run_dir / part.path).open("rb") as file:
            if part.path not in self._grown:
                # This shipper may follow another one.
                self._grown[part.path] = await _send(client, part, b"")
            while True:
                offset = self._grown[part.path]
                data = await asyncio.to_thread(_read_at, file.fileno(), offset)
                if not data:
                    return
                here = await _send(client, part.model_copy(update={"offset": offset}), data)
                self._grown[part.path] = min(here, offset + len(data))

    async def _whole(self, client: NodeClient, part: FilePart) -> bool:
        """Send one version of a file; False: it changed on the way, and another one is to be sent."""
        if part.total and await _send(client, part, b"") == part.total:
            return True  # an earlier shipper sent it
        transfer, digest, offset = secrets.token_hex(8), hashlib.sha256(), 0
        with (self._run_dir / part.path).open("rb") as file:
            while True:
                data = await asyncio.to_thread(_read_at, file.fileno(), offset)
                digest.update(data)
                is_last = offset + len(data) >= (part.total or 0)
                if not data and not is_last:
                    return False
                update = {"offset": offset, "transfer": transfer}
                if is_last:
                    update["sha256"] = digest.hexdigest()
                here = await _send(client, part.model_copy(update=update), data)
                offset += len(data)
                if is_last:
                    return here == part.total == offset
                if here != offset:
                    return False


def _grows(path: str) -> bool:
    """Whether bytes are only ever added to it."""
    return path.startswith(LOGS) or _EVENT_FILES in path.rpartition("/")[2]


def _read_at(fd: int, offset: int) -> bytes:
    return os.pread(fd, CHUNK_BYTES, offset)


async def _send(client: NodeClient, part: FilePart, data: bytes) -> int:
    headers = {WRITE_HEADER: part.model_dump_json(exclude_none=True)}
    reply = await client.send(NodeVerb.WRITE, data, headers)
    return WriteAnswer.model_validate(reply.result).bytes
