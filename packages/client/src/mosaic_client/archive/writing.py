"""Writes an archive: everything of the named runs, verified, under its name only when it is complete."""

import hashlib
import os
import zlib
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from pydantic import BaseModel

from mosaic_base.atomic import sync_folder
from mosaic_base.draft_folder import draft_folder
from mosaic_base.output_file import output_file
from mosaic_base.sealed_zip import SealedZip, SealedZipInvalid, SealedZipWriter, is_safe_name
from mosaic_client.archive.events import StoredEvents, write_events
from mosaic_client.archive.form_messages import FormKind
from mosaic_client.archive.forms import EventForms
from mosaic_client.errors import ArchiveRefused, ArtifactUnknown, ParquetMissing, RunUnknown
from mosaic_contracts.archive_words import (
    ARCHIVE_HEAD,
    COLUMNS,
    LINES,
    MAX_ARCHIVED_RUNS,
    RUN_BATCHES,
    RUN_FACTS,
    RUN_MANIFEST,
    RUN_RECORD,
    RUN_SPEC,
    file_entry,
    group_entry,
    run_entry,
)
from mosaic_contracts.compat import UTC, StrEnum
from mosaic_contracts.groups import GroupSpec
from mosaic_contracts.manifest import ManifestEntry, RunManifest
from mosaic_contracts.manifest_words import FileState, FileType
from mosaic_contracts.run_archives import (
    ArchivedFile,
    ArchivedGroup,
    ArchivedRun,
    ArchiveHead,
    GitState,
    LeftOutFile,
)
from mosaic_contracts.runs import RunView
from mosaic_contracts.store_upkeep import KnownThinning
from mosaic_contracts.stored import BatchPage

if TYPE_CHECKING:
    from mosaic_client.file_transfer import FileTransfer

DISTRIBUTION = "mosaic-rl-client"
_COPY_BYTES = 2**20
_SAMPLE_BYTES = 2**16
_WORTH_IT = 0.9
"""A file is compressed if its beginning becomes smaller than this part of its size."""


class ArchivePhase(StrEnum):
    """What is done at the moment."""

    EVENTS = "events"
    """Events are read from the stack, and written in all forms; counted in events."""
    FILES = "files"
    """Files are copied; counted in bytes."""
    VERIFY = "verify"
    """The archive is read again; counted in bytes."""


class ArchiveProgress(NamedTuple):
    """How far an archive is."""

    phase: ArchivePhase
    run_id: str | None
    """None: it concerns all runs."""
    done: int
    total: int | None


OnProgress = Callable[[ArchiveProgress], None]


@dataclass(frozen=True)
class WrittenArchive:
    """A complete archive whose every digest was compared after it was written."""

    path: Path
    bytes: int
    sha256: str
    """Digest of the whole file."""
    runs: list[ArchivedRun]


def write_archive(
    client: "FileTransfer",
    run_ids: Sequence[str],
    target: Path,
    without: Collection[str],
    on_progress: OnProgress,
    *,
    checkout: GitState | None = None,
) -> WrittenArchive:
    """Write an archive; see `Client.archive`.

    Args:
        client: of the stack that has the runs.
        run_ids: the runs, each once.
        target: file to write.
        without: kinds of files that are left out, and `jsonl` or `parquet` for these forms of events.
        on_progress: called often.
        checkout: the checkout that writes it.
    """
    target = output_file(target)
    views = [_require_whole(client.run(run_id)) for run_id in _distinct(run_ids)]
    with draft_folder(target) as folder:
        draft = folder / "archive"
        with (
            draft.open("wb") as file,
            SealedZipWriter(file) as archive,
            _forms(folder, without) as forms,
        ):
            head = ArchiveHead(
                created_at=datetime.now(UTC),
                mosaic=version(DISTRIBUTION),
                checkout=checkout,
                runs=[view.run_id for view in views],
            )
            archive.add(ARCHIVE_HEAD, _json(head))
            for group_id in dict.fromkeys(view.group.group_id for view in views if view.group):
                group = _group(client, group_id)
                archive.add(group_entry(group_id), _json(group))
            runs = [
                _RunWriter(client, archive, file, draft, forms, view, without, on_progress).write()
                for view in views
            ]
            archive.seal()
            file.flush()
            os.fsync(file.fileno())
        digest = _verified(draft, on_progress)
        size = draft.stat().st_size
        draft.replace(target)
        sync_folder(target.parent)
    return WrittenArchive(target, size, digest, runs)


class _RunWriter:
    """Writes one run."""

    def __init__(
        self,
        client: "FileTransfer",
        archive: SealedZipWriter,
        file: BinaryIO,
        draft: Path,
        forms: EventForms,
        view: RunView,
        without: Collection[str],
        on_progress: OnProgress,
    ) -> None:
        self._client = client
        self._archive = archive
        self._file = file
        self._draft = draft
        self._forms = forms
        self._view = view
        self._run_id = view.run_id
        self._without = without
        self._on_progress = on_progress

    def write(self) -> ArchivedRun:
        """Write all entries of the run."""
        manifest = self._client.manifest(self._run_id)
        self._add(RUN_RECORD, self._view)
        self._add(RUN_SPEC, self._view.spec)
        self._add(RUN_MANIFEST, manifest)
        events = self._write_events()
        files, left_out = self._write_files(manifest)
        self._require_unchanged(events.count)
        view = self._view
        facts = ArchivedRun(
            run_id=self._run_id,
            events=events.count,
            sources=list(events.sources.values()),
            files=files,
            left_out=left_out,
            without=sorted(self._without),
            worker=view.spec.worker,
            worker_version=view.worker_version,
            worker_lock=view.worker_lock,
            image=view.image,
            thinned=_thinned(view),
            packages=events.packages,
        )
        self._add(RUN_FACTS, facts)
        return facts

    def _write_events(self) -> StoredEvents:
        run_id, summary = self._run_id, self._view.summary
        total = None if summary is None else summary.events
        report = self._counted(ArchivePhase.EVENTS, total)
        found, forms = StoredEvents(), self._forms
        with self._archive.entry(run_entry(run_id, RUN_BATCHES)) as file:
            self._file.flush()
            forms.begin(self._draft, self._file.tell())
            for found in write_events(file, self._read_page):
                self._file.flush()
                forms.add(file.bytes, found.spaces)
                report(forms.done(found.count))
        forms.end(file.bytes)
        self._file.flush()
        with ThreadPoolExecutor(1, thread_name_prefix="sync") as thread:
            # the disk has its time now, in which the processors have theirs
            synced = thread.submit(os.fsync, self._file.fileno())
            while forms.wait_progress():
                report(forms.done(found.count))
            synced.result()
        forms.copy_into(self._archive, run_id)
        return found

    def _read_page(self, cursor: str) -> BatchPage:
        return self._client.batches(self._run_id, cursor)

    def _write_files(self, manifest: RunManifest) -> tuple[list[ArchivedFile], list[LeftOutFile]]:
        wanted = [entry for entry in manifest.entries if self._why_not(entry) is None]
        left_out = [
            LeftOutFile(path=entry.path, kind=entry.kind, bytes=entry.bytes, reason=why)
            for entry in manifest.entries
            if entry.type is not FileType.FOLDER
            and entry.state.is_there
            and (why := self._why_not(entry)) is not None
        ]
        if manifest.unlisted_files:
            left_out.append(
                LeftOutFile(
                    path="...",
                    kind="other",
                    bytes=manifest.unlisted_bytes,
                    reason=f"{manifest.unlisted_files} files beyond the limit of a manifest",
                )
            )
        files = []
        total, done = sum(entry.bytes for entry in wanted), 0
        for entry in wanted:
            self._on_progress(ArchiveProgress(ArchivePhase.FILES, self._run_id, done, total))
            files.append(self._write_file(entry))
            done += entry.bytes
        return files, left_out

    def _why_not(self, entry: ManifestEntry) -> str | None:
        """Why a file is left out; None: it is not."""
        if entry.type is FileType.FOLDER or not entry.state.is_there:
            return "not there"
        if entry.kind in self._without:
            return "not wanted"
        if entry.type is not FileType.FILE:
            return "no regular file"
        if entry.name_hex is not None or not is_safe_name(entry.path):
            return "its name fits no archive"
        return None

    def _write_file(self, entry: ManifestEntry) -> ArchivedFile:
        copy = self._draft.with_name("file")
        try:
            self._client.download(self._run_id, entry.path, copy)
        except ArtifactUnknown as error:
            raise self._changed(entry.path) from error
        with (
            copy.open("rb") as source,
            self._archive.entry(
                file_entry(self._run_id, entry.path), compress=_is_worth_it(source)
            ) as file,
        ):
            while piece := source.read(_COPY_BYTES):
                file.write(piece)
        copy.unlink()
        is_as_recorded = entry.state is FileState.PRESENT and entry.sha256 is not None
        if is_as_recorded and file.sha256 != entry.sha256:
            raise self._changed(entry.path)
        return ArchivedFile(path=entry.path, kind=entry.kind, bytes=file.bytes, sha256=file.sha256)

    def _require_unchanged(self, events: int) -> None:
        """Check that the run is there still, and that it was not deleted or thinned while its events were read."""
        try:
            view = _require_whole(self._client.run(self._run_id))
        except RunUnknown as error:
            raise ArchiveRefused(
                f"Run {self._run_id} was deleted while it was archived. Nothing was written."
            ) from error
        before, after = self._view.summary, view.summary
        if before is None or after is None:
            return
        is_thinned = before.thinned_steps != after.thinned_steps
        if is_thinned or events < before.events - before.thinned_steps:
            raise self._changed("What the store has")

    def _changed(self, what: str) -> ArchiveRefused:
        return ArchiveRefused(
            f"{what} of run {self._run_id} changed while it was archived. Nothing was written. Archive the run again."
        )

    def _counted(self, phase: ArchivePhase, total: int | None) -> Callable[[int], None]:
        return lambda done: self._on_progress(ArchiveProgress(phase, self._run_id, done, total))

    def _add(self, name: str, model: BaseModel) -> None:
        self._archive.add(run_entry(self._run_id, name), _json(model))


def _forms(folder: Path, without: Collection[str]) -> EventForms:
    """Processes that make the forms of the events that are wanted."""
    words = {LINES: FormKind.LINES, COLUMNS: FormKind.COLUMNS}
    kinds = [kind for word, kind in words.items() if word not in without]
    try:
        return EventForms(kinds, folder)
    except ParquetMissing as error:
        raise ArchiveRefused(f"{error} Or leave Parquet out: without={[COLUMNS]!r}.") from error


def _group(client: "FileTransfer", group_id: str) -> ArchivedGroup:
    view = client.group(group_id)
    return ArchivedGroup(
        group_id=group_id,
        name=view.name,
        created_at=view.created_at,
        spec=GroupSpec.model_validate(view.spec),
    )


def _thinned(view: RunView) -> KnownThinning | None:
    """Steps that were thinned; None where events are missing for other reasons too, which cannot be separated."""
    summary = view.summary
    if summary is None or not summary.thinned_steps or summary.gaps:
        return None
    return KnownThinning(steps=summary.thinned_steps, rule=summary.thinned_by or "?")


def _distinct(run_ids: Sequence[str]) -> list[str]:
    distinct = list(dict.fromkeys(run_ids))
    if not 1 <= len(distinct) <= MAX_ARCHIVED_RUNS:
        raise ArchiveRefused(
            f"An archive has 1 to {MAX_ARCHIVED_RUNS} runs, not {len(distinct)}. Archive them in several files."
        )
    return distinct


def _require_whole(view: RunView) -> RunView:
    """Check that all of the run is in the store."""
    if view.spec.kind.is_derived:
        raise ArchiveRefused(
            f"Run {view.run_id} is a {view.spec.kind.value}, which is made from other runs and deleted an hour after "
            "its end. Archive those runs."
        )
    if not view.state.is_final:
        raise ArchiveRefused(
            f"Run {view.run_id} is {view.state.value}. Stop it first (`./mosaic stop {view.run_id}`), or wait for its "
            "end."
        )
    if view.telemetry_pending or view.stale:
        raise ArchiveRefused(
            f"Some events of run {view.run_id} are still on their way to the store. Try again in a moment; "
            "`./mosaic status` says whether something is wrong."
        )
    return view


def _verified(draft: Path, on_progress: OnProgress) -> str:
    """Read the archive again, compare all digests, and return that of the file."""
    try:
        with SealedZip(draft) as archive:
            done, total = 0, sum(archive.size(name) for name in archive.sums)
            for count in archive.verify():
                done += count
                on_progress(ArchiveProgress(ArchivePhase.VERIFY, None, done, total))
    except SealedZipInvalid as error:
        raise ArchiveRefused(
            f"The archive was read again and is not as it was written: {error}. Check the disk, and archive again."
        ) from error
    digest = hashlib.sha256()
    with draft.open("rb") as file:
        while piece := file.read(_COPY_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def _is_worth_it(source: BinaryIO) -> bool:
    """Whether the file that begins here becomes smaller when it is compressed."""
    sample = source.read(_SAMPLE_BYTES)
    source.seek(0)
    return len(zlib.compress(sample, 1)) < _WORTH_IT * len(sample)


def _json(model: BaseModel) -> bytes:
    return model.model_dump_json(indent=1).encode() + b"\n"
