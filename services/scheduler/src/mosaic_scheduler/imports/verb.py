"""Imports: an uploaded file becomes a run of kind `import`, once a worker has said what it is (ADR 0019)."""

import asyncio
import hashlib
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from mosaic_contracts.exported import ExportedCheckpoint, ImportQuery
from mosaic_contracts.fault import fault_place, fault_text
from mosaic_contracts.launch import MANIFEST_FILE, SPEC_FILE, RunFile
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import ImportOrder
from mosaic_contracts.spec import RunKind
from mosaic_contracts.worker import (
    Finding,
    InspectedCheckpoint,
    InspectReport,
    InspectRequest,
    WorkerDescription,
)
from mosaic_scheduler import problem
from mosaic_scheduler.admission.admission import Admission
from mosaic_scheduler.errors import FileRefused, IdempotencyKeyReused, InspectionFailed
from mosaic_scheduler.events.announcement import RunAnnouncer
from mosaic_scheduler.executors.run_folder import fault_words
from mosaic_scheduler.imports import folder
from mosaic_scheduler.imports.exported import is_export, unpack
from mosaic_scheduler.imports.folder import ImportFolder, safe_name
from mosaic_scheduler.imports.record import ImportedCheckpoint, StoredFile
from mosaic_scheduler.runs.idempotency import IdempotencyKey
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.runs.view import RunViews
from mosaic_scheduler.workers.catalogue import WorkerCatalogue
from mosaic_scheduler.workers.probe import INSPECT_MEMORY_BYTES, INSPECT_TIMEOUT_S, Inspection
from mosaic_scheduler.workers.registry import RegisteredWorker
from mosaic_servicekit.bus import Verb
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.ulid import RunIdSource

AT_ONCE = 2
"""Files that workers look into at the same time: each look may take a core and much memory."""
WAIT_S = 30.0
"""Seconds that a file waits for its turn."""
CHECKPOINTS, ORIGINALS = "checkpoints", "original"


class RunImports:
    """The verb `import`."""

    def __init__(
        self,
        home: Path,
        store: RunStore,
        catalogue: WorkerCatalogue,
        admission: Admission,
        views: RunViews,
        announcer: RunAnnouncer,
    ) -> None:
        self._home = home
        self._store = store
        self._catalogue = catalogue
        self._admission = admission
        self._views = views
        self._announcer = announcer
        self._ids = RunIdSource()
        self._turns = asyncio.Semaphore(AT_ONCE)

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {"import": (ImportOrder, self.import_file)}

    async def sweep(self) -> None:
        """Remove what a killed scheduler had begun. To be called before anything is imported."""
        found = await asyncio.to_thread(folder.names, self._home)
        known = {run_id for run_id in found if await self._store.get(run_id) is not None}
        removed = await asyncio.to_thread(folder.sweep, self._home, known.__contains__)
        if removed:
            get_log().info("imports.removed", begun=removed)

    async def import_file(self, order: ImportOrder) -> RunRecord:
        """Make a run of an uploaded file."""
        try:
            asked = ImportQuery.model_validate(order.asked)
        except ValidationError as error:
            raise problem.request_invalid("import", error) from error
        key = IdempotencyKey.of(
            order.idempotency_key, {"import": order.sha256, "asked": asked.model_dump()}
        )
        known = await self._admission.find_existing(key)
        if known is not None:
            return known
        async with self._turn():
            return await self._import(order, asked, key)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(WAIT_S):
                await self._turns.acquire()
        except TimeoutError as error:
            raise _busy() from error
        try:
            yield
        finally:
            self._turns.release()

    async def _import(
        self, order: ImportOrder, asked: ImportQuery, key: IdempotencyKey | None
    ) -> RunRecord:
        place = ImportFolder(self._home, self._ids.next())
        try:
            record, imported = await self._publish(place, order, asked)
        except FileRefused as error:
            raise problem.import_refused([_finding(error)]) from error
        except OSError as error:
            raise problem.folder_refused(fault_words(place.path, error)) from error
        return await self._add(place, record, imported, key)

    async def _publish(
        self, place: ImportFolder, order: ImportOrder, asked: ImportQuery
    ) -> tuple[RunRecord, ImportedCheckpoint]:
        """Make the run's folder and put it in its place. After any error nothing of it stays.

        A cancelled import is left to the next scheduler: a thread may still write its files.
        """
        try:
            imported = await self._prepare(place, order, asked)
            record = _record(place, imported)
            await asyncio.to_thread(_write, place, imported, record)
            await asyncio.to_thread(place.publish)
        except Exception:
            await asyncio.to_thread(place.discard)
            raise
        return record, imported

    async def _prepare(
        self, place: ImportFolder, order: ImportOrder, asked: ImportQuery
    ) -> ImportedCheckpoint:
        """Have a worker look at the file, and put it into what becomes the run's folder."""
        upload = await asyncio.to_thread(place.claim, order.upload, asked.file)
        path, digest, size, facts = upload, order.sha256, order.bytes, None
        if await asyncio.to_thread(is_export, upload):
            path, digest, size, facts = await asyncio.to_thread(unpack, upload, place.unpacked)
        worker, description, found = await self._inspect(place, path, asked, facts)
        algorithm = description.find_algorithm(found.algorithm)
        if algorithm is None:
            raise FileRefused(
                f"The file is of {found.algorithm}, which {worker.manifest.id} does not have here.",
                "algorithm",
            )
        if facts is not None:
            _require_agreement(facts, found)
        stored = await asyncio.to_thread(_store, place, path, StoredFile("", digest, size), found)
        return ImportedCheckpoint(*stored, asked, worker.manifest.id, algorithm, found, facts)

    async def _add(
        self,
        place: ImportFolder,
        record: RunRecord,
        imported: ImportedCheckpoint,
        key: IdempotencyKey | None,
    ) -> RunRecord:
        """Add the run whose folder is in its place.

        While the database cannot be used, nobody knows whether the run is there: then the next scheduler finds out.
        """
        nonce = secrets.token_hex(16)
        try:
            known = await self._store.insert_ended(record, nonce, imported.events(), key)
        except IdempotencyKeyReused:
            await asyncio.to_thread(place.discard)
            raise
        if known is not None:
            await asyncio.to_thread(place.discard)
            return self._views.view(await self._store.require(known))
        await asyncio.to_thread(place.close)
        await self._announcer.announce(record)
        return self._views.view(record)

    async def _inspect(
        self,
        place: ImportFolder,
        path: Path,
        asked: ImportQuery,
        facts: ExportedCheckpoint | None,
    ) -> tuple[RegisteredWorker, WorkerDescription, InspectedCheckpoint]:
        """Ask the worker that the file is for, or each that takes imports until one takes it."""
        row = None if facts is None else facts.checkpoint
        request = InspectRequest(
            path=str(path),
            name=asked.file if facts is None else facts.file,
            made=str(place.made),
            algorithm=asked.algorithm or (None if row is None else row.algorithm),
            environment=asked.environment or (None if row is None else row.environment),
        )
        inspection = Inspection(place.path.name, place.path, request)
        refusals: list[InspectReport] = []
        workers = await self._candidates(asked.worker or (None if row is None else row.worker))
        for worker in workers:
            report = await self._ask(worker, inspection)
            if report.ok and report.checkpoint is not None:
                return worker, await self._catalogue.describe(worker), report.checkpoint
            refusals.append(report)
        refusals.sort(key=lambda report: not report.recognized)
        if len(workers) > 1 and not refusals[0].recognized:
            raise _unknown(request.name, workers)
        raise problem.import_refused(refusals[0].findings)

    async def _candidates(self, name: str | None) -> list[RegisteredWorker]:
        if name is None:
            found = await self._catalogue.importers()
            if not found:
                raise FileRefused(
                    "No worker here takes imports. `./mosaic workers` says which are ready.",
                    "worker",
                )
            return found
        worker = self._catalogue.find(name)
        description = await self._catalogue.describe(worker)
        if RunKind.IMPORT not in description.modes:
            raise FileRefused(
                f"The worker {worker.manifest.id} takes no imports: it does not have the verb `inspect` "
                "(docs/worker_author.md).",
                "worker",
            )
        return [worker]

    async def _ask(self, worker: RegisteredWorker, inspection: Inspection) -> InspectReport:
        try:
            return await self._catalogue.inspect(worker, inspection)
        except InspectionFailed as error:
            limits = f"{INSPECT_MEMORY_BYTES // 2**30} GiB of memory and {INSPECT_TIMEOUT_S:g} s"
            words = (
                f"{worker.manifest.id} could not look into it. {_short(error)} It may use {limits}."
            )
            return InspectReport(ok=False, findings=[_finding(FileRefused(words))])


def _short(error: InspectionFailed) -> str:
    """The words without the traceback in them."""
    first, *rest = str(error).strip().splitlines()
    words = first if not rest else f"{first.partition('Traceback')[0].strip()} {rest[-1].strip()}"
    return f"{words.rstrip(' :.')}."


def _unknown(name: str, workers: list[RegisteredWorker]) -> FileRefused:
    asked = ", ".join(worker.manifest.id for worker in workers)
    return FileRefused(
        f"No worker here knows {name} (asked: {asked}). Import a checkpoint that a run saved, a zip of `./mosaic "
        "checkpoints export`, or what docs/checkpoints.md lists. With `--worker` one says what is wrong with it."
    )


def _require_agreement(facts: ExportedCheckpoint, found: InspectedCheckpoint) -> None:
    """Compare what the exporting stack said with what is in the file."""
    row = facts.checkpoint
    pairs = [
        ("algorithm", row.algorithm, found.algorithm),
        ("environment", row.environment, found.environment),
    ]
    if row.step is not None and found.step is not None:
        pairs.append(("step", str(row.step), str(found.step)))
    for what, said, has in pairs:
        if said != has:
            raise FileRefused(
                f"The exported checkpoint was altered after it was written: its facts say {what} {said}, and the file "
                f"in it says {has}. Export it again."
            )


def _store(
    place: ImportFolder, path: Path, given: StoredFile, found: InspectedCheckpoint
) -> tuple[StoredFile, StoredFile | None]:
    """Put the checkpoint into the run's folder, and next to it the file as it came where it was converted."""
    if found.converted is None:
        target = f"{CHECKPOINTS}/{path.name}"
        place.take(path, target)
        return StoredFile(target, given.sha256, given.bytes), None
    if safe_name(found.converted) != found.converted:
        raise FileRefused(f"The worker named no file of its folder: {found.converted[:80]!r}.")
    target = f"{CHECKPOINTS}/{found.converted}"
    with place.take(place.made / found.converted, target).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        size = file.tell()
    original = f"{ORIGINALS}/{path.name}"
    place.take(path, original)
    return (
        StoredFile(target, digest, size),
        StoredFile(original, given.sha256, given.bytes),
    )


def _write(place: ImportFolder, imported: ImportedCheckpoint, record: RunRecord) -> None:
    """Write what a run's folder has in addition to its files."""
    spec = record.spec.model_dump(mode="json")
    run = RunFile(run_id=record.run_id, attempt=record.attempt, spec=spec)
    (place.run / SPEC_FILE).write_text(run.model_dump_json(indent=1))
    (place.run / MANIFEST_FILE).write_text(imported.manifest())


def _record(place: ImportFolder, imported: ImportedCheckpoint) -> RunRecord:
    try:
        return imported.record(place.path.name, datetime.now(UTC))
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise FileRefused(
            f"What the file says of its run cannot be: {fault_place(fault)} {fault_text(fault)}. It was altered after "
            "it was written. Copy it again, or export it again."
        ) from error


def _finding(error: FileRefused) -> Finding:
    return Finding(level="blocking", where=error.where, message=str(error), nearest=error.nearest)


def _busy() -> ProblemError:
    return ProblemError(
        Problem(
            code=ProblemCode.SERVICE_UNAVAILABLE,
            title="Other files are being imported",
            detail=f"Workers look into {AT_ONCE} files at a time. Try again in a moment.",
            retry_after_s=10.0,
        )
    )
