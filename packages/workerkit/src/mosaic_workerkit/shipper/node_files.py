"""Sends the files of a run to the stack when the folder is not the stack's: logs as they grow, all others whole.

A file is sent once it has not changed between two looks, and in the drain in any case.
"""

import asyncio
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mosaic_contracts.launch import WORKER_LOG
from mosaic_contracts.nodes import (
    CHUNK_BYTES,
    NOT_SHIPPED,
    WRITE_HEADER,
    FilePart,
    NodeVerb,
    WriteAnswer,
    is_shipped,
)
from mosaic_workerkit.errors import NodeRefused
from mosaic_workerkit.shipper.log import log_event
from mosaic_workerkit.shipper.node_client import NodeClient

_LOGS = "logs/"
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

    async def ship(self, client: NodeClient, attempt: int, claim: str, *, is_last: bool) -> None:
        """Send what is new.

        Raises:
            NodeRefused: the attempt has ended for the scheduler.
            NodeUnanswered: the scheduler does not answer; what was not sent comes next time.
        """
        found = await asyncio.to_thread(lambda: dict(self._look()))
        for path, version in found.items():
            before, self._seen[path] = self._seen.get(path), version
            if self._sent.get(path) == version or path in self._refused:
                continue
            try:
                if _grows(path):
                    await self._append(client, FilePart(attempt=attempt, claim=claim, path=path))
                elif is_last or before == version:
                    part = FilePart(
                        attempt=attempt,
                        claim=claim,
                        path=path,
                        total=version.size,
                        mtime_ns=version.mtime_ns,
                    )
                    if not await self._whole(client, part):
                        continue  # it changed meanwhile
                else:
                    continue
            except NodeRefused as error:
                if error.is_over:
                    raise
                self._refused.add(path)
                log_event("file.refused", path=path, error=str(error))
            except OSError as error:
                log_event("file.unreadable", path=path, error=str(error))
            else:
                self._sent[path] = version

    async def ask(self, client: NodeClient, attempt: int, claim: str) -> None:
        """Send no bytes of the log: the answer says whether the attempt still counts. Errors as `ship`."""
        await _send(client, FilePart(attempt=attempt, claim=claim, path=WORKER_LOG), b"")

    def _look(self) -> Iterator[tuple[str, _Version]]:
        for folder, folders, names in os.walk(self._run_dir):
            if Path(folder) == self._run_dir:
                folders[:] = [name for name in folders if name not in NOT_SHIPPED]
            for name in names:
                path = Path(folder) / name
                shown = path.relative_to(self._run_dir).as_posix()
                if name.endswith(_DRAFTS) or not is_shipped(shown):
                    continue
                try:
                    status = path.lstat()
                except OSError:
                    continue  # removed in this moment
                if stat.S_ISREG(status.st_mode):
                    yield shown, _Version(status.st_size, status.st_mtime_ns, status.st_ino)

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
    return path.startswith(_LOGS) or _EVENT_FILES in path.rpartition("/")[2]


def _read_at(fd: int, offset: int) -> bytes:
    return os.pread(fd, CHUNK_BYTES, offset)


async def _send(client: NodeClient, part: FilePart, data: bytes) -> int:
    headers = {WRITE_HEADER: part.model_dump_json(exclude_none=True)}
    reply = await client.send(NodeVerb.WRITE, data, headers)
    return WriteAnswer.model_validate(reply.result).bytes
