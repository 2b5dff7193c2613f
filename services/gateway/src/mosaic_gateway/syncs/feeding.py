"""Sends a sync what it needs of its run: stored events in pages, and files. Another gateway can go on at any point."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

from mosaic_contracts.problems import ProblemError
from mosaic_contracts.runs import ArtifactRow, RunRecord, RunView
from mosaic_contracts.sync_source import SyncSource
from mosaic_contracts.syncs import (
    FEED_FILE_PATH,
    FEED_PATH,
    SYNC_SOCKET,
    WANDB_DIR,
    WANDB_NOT_SENT,
    FeedFile,
    FeedPage,
    FeedState,
    RunAbout,
)
from mosaic_gateway.files.artifacts import Artifacts, open_file
from mosaic_gateway.files.run_socket import ask
from mosaic_gateway.history import History
from mosaic_gateway.runs.service import Runs
from mosaic_servicekit.logging import get_log
from mosaic_store import Reader

PAGE_EVENTS = 2_000
_CHUNK_BYTES = 2**20
_EVENT_TYPES = ("config", "metric")


class SyncFeeder:
    """Brings one sync everything that it needs."""

    def __init__(self, runs: Runs, history: History, artifacts: Artifacts) -> None:
        self._runs = runs
        self._history = history
        self._artifacts = artifacts

    async def feed(self, sync: RunRecord) -> None:
        """Send what is missing, until all of it is there.

        Raises:
            httpx.HTTPError: its worker does not answer.
            OSError: its socket is not there.
            ProblemError: the run or the store cannot be read.
        """
        source, folder = sync.spec.sync, self._runs.folder(sync.run_id)
        if source is None:
            return
        state = await _ask(folder, None)
        if state.is_complete:
            return
        run = await self._runs.get(source.run_id)
        if source.way == "store":
            state = await self._send_events(folder, source, state)
        files = await self._find_files(source)
        sent = [file for file in files if await self._send_file(folder, source, file, state)]
        page = FeedPage(
            cursor=state.cursor,
            next_cursor=state.cursor,
            about=_about(run),
            files=sent,
            is_last=True,
        )
        await _ask(folder, page)

    async def _send_events(self, folder: Path, source: SyncSource, state: FeedState) -> FeedState:
        has_more = True
        while has_more:
            cursor = state.cursor
            none = (FeedPage(cursor=cursor, next_cursor=cursor), False)
            read = partial(_read_page, run_id=source.run_id, cursor=cursor)
            page, has_more = await self._history.read(read, none)
            if page.next_cursor == cursor:
                break
            state = await _ask(folder, page)
        return state

    async def _find_files(self, source: SyncSource) -> list[FeedFile]:
        folder = self._runs.folder(source.run_id)
        if source.way == "folder":
            return await asyncio.to_thread(_wandb_files, folder)
        rows = await self._artifacts.rows(source.run_id, folder, has_ended=True)
        wanted = {"checkpoint": source.checkpoints, "video": source.videos}
        found = {row.path: _feed_file(row) for row in rows if row.exists and wanted.get(row.kind)}
        return list(found.values())

    async def _send_file(
        self, folder: Path, source: SyncSource, file: FeedFile, state: FeedState
    ) -> bool:
        """Send a file that the sync has not. Return whether it has it; one that is gone is left out."""
        try:
            opened = await asyncio.to_thread(open_file, self._runs.folder(source.run_id), file.path)
        except ProblemError as error:
            get_log().info("sync.file_gone", run_id=source.run_id, path=file.path, error=str(error))
            return False
        try:
            if state.files.get(file.path) != opened.size:
                path = f"{FEED_FILE_PATH}?{urlencode({'path': file.path})}"
                body = _read_file(opened.fd, opened.size)
                await ask(folder, SYNC_SOCKET, "PUT", path, body, size=opened.size)
        finally:
            os.close(opened.fd)
        return True


async def _ask(folder: Path, page: FeedPage | None) -> FeedState:
    """How far the sync is, after it was given a page."""
    body = b"" if page is None else page.model_dump_json().encode()
    method = "GET" if page is None else "POST"
    return FeedState.model_validate_json(await ask(folder, SYNC_SOCKET, method, FEED_PATH, body))


def _read_page(reader: Reader, run_id: str, cursor: str) -> tuple[FeedPage, bool]:
    page = reader.events(run_id, cursor, PAGE_EVENTS, _EVENT_TYPES)
    return FeedPage(cursor=cursor, next_cursor=page.cursor, events=page.events), page.has_more


async def _read_file(fd: int, size: int) -> AsyncIterator[bytes]:
    at = 0
    while at < size:
        chunk = await asyncio.to_thread(os.pread, fd, min(_CHUNK_BYTES, size - at), at)
        if not chunk:
            return  # it shrank: the sync refuses it, and it is tried again
        at += len(chunk)
        yield chunk


def _feed_file(row: ArtifactRow) -> FeedFile:
    return FeedFile(
        path=row.path,
        kind="checkpoint" if row.kind == "checkpoint" else "video",
        step=row.step,
        reason=row.reason,
        env=row.env,
        episode=row.episode,
    )


def _wandb_files(run_dir: Path) -> list[FeedFile]:
    """Regular files of the run's W&B folders. No link is followed."""
    root = run_dir / WANDB_DIR
    found = []
    for entry in os.scandir(root):
        folder = Path(entry.path)
        if not entry.is_dir(follow_symlinks=False) or not any(folder.glob("*.wandb")):
            continue
        for place, folders, names in os.walk(folder, followlinks=False):
            if Path(place) == folder:
                folders[:] = [name for name in folders if name not in WANDB_NOT_SENT]
            for name in sorted(names):
                path = Path(place, name)
                if stat.S_ISREG(path.lstat().st_mode):
                    found.append(FeedFile(path=str(path.relative_to(run_dir)), kind="wandb"))
    return found


def _about(run: RunView) -> RunAbout:
    began = run.started_at or run.created_at
    return RunAbout(
        name=run.name,
        kind=run.spec.kind.value,
        worker=run.spec.worker,
        state=run.state.value,
        started_at=began.timestamp(),
        tags=run.tags,
        note=run.note,
        step_offsets={each.attempt: each.step for each in run.resumptions},
    )
