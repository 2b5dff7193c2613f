"""The workers as a request sees them: by name, with what they say of themselves, or with the reason why not."""

from mosaic_contracts.services import WorkerEntries, WorkerEntry, WorkerRequest
from mosaic_contracts.spec import RunKind, RunSpec
from mosaic_contracts.worker import CheckReport, Finding, InspectReport, WorkerDescription
from mosaic_scheduler import problem
from mosaic_scheduler.errors import WorkerUnknown, WorkerUnready
from mosaic_scheduler.workers.probe import Inspection, WorkerProbe
from mosaic_scheduler.workers.registry import (
    RegisteredWorker,
    UnreadableWorker,
    WorkerRegistry,
)
from mosaic_servicekit.bus import Verb
from mosaic_servicekit.logging import get_log


class WorkerCatalogue:
    """The verbs `workers` and `describe`. What goes wrong comes as a ProblemError."""

    def __init__(self, registry: WorkerRegistry, probe: WorkerProbe) -> None:
        self._registry = registry
        self._probe = probe

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {
            "workers": (None, self.workers),
            "describe": (WorkerRequest, self.described),
        }

    async def warm_up(self) -> None:
        """Have every worker describe itself once, so that no submit waits for that."""
        for worker in self._registry.workers():
            try:
                await self._probe.describe(worker)
            except WorkerUnready as error:
                get_log().warning("worker.not_ready", worker=worker.manifest.id, error=str(error))

    async def workers(self) -> WorkerEntries:
        """Every registered worker, and whether it can be used now."""
        entries = [await self._entry(worker) for worker in self._registry.workers()]
        return WorkerEntries(workers=entries + [_unready(w) for w in self._registry.unreadable()])

    async def described(self, request: WorkerRequest) -> WorkerDescription:
        """What a worker can do."""
        return await self.describe(self.find(request.worker))

    def find(self, name: str) -> RegisteredWorker:
        """The worker with this id or alias."""
        try:
            return self._registry.find(name)
        except WorkerUnknown as error:
            for broken in self._registry.unreadable():
                if broken.manifest.id == name:
                    reason = WorkerUnready(broken.reason)
                    raise problem.worker_not_ready(name, reason) from error
            raise problem.worker_unknown(error) from error

    async def describe(self, worker: RegisteredWorker) -> WorkerDescription:
        """What it says of itself."""
        try:
            return await self._probe.describe(worker)
        except WorkerUnready as error:
            raise problem.worker_not_ready(worker.manifest.id, error) from error

    async def may_need_consent(self, worker: RegisteredWorker) -> bool:
        """Whether it says so of itself (`"needs_consent": true` in `describe`), or has needed it before."""
        description = await self.describe(worker)
        says_so = description.needs_consent
        return says_so or self._probe.has_needed_consent(worker)

    async def check(self, worker: RegisteredWorker, spec: RunSpec) -> CheckReport:
        """Its own word on a spec."""
        try:
            return await self._probe.check(worker, spec)
        except WorkerUnready as error:
            raise problem.worker_not_ready(worker.manifest.id, error) from error

    async def importers(self) -> list[RegisteredWorker]:
        """The workers that take imports and can be used now, by id."""
        found = []
        for worker in self._registry.workers():
            try:
                description = await self._probe.describe(worker)
            except WorkerUnready:
                continue  # `./mosaic workers` says why
            if RunKind.IMPORT in description.modes:
                found.append(worker)
        return found

    async def inspect(self, worker: RegisteredWorker, inspection: Inspection) -> InspectReport:
        """Its own word on a file. Raises InspectionFailed: it came to no answer."""
        try:
            return await self._probe.inspect(worker, inspection)
        except WorkerUnready as error:
            raise problem.worker_not_ready(worker.manifest.id, error) from error

    async def _entry(self, worker: RegisteredWorker) -> WorkerEntry:
        manifest = worker.manifest.model_copy(update={"hint": worker.hint})
        try:
            description = await self._probe.describe(worker)
        except WorkerUnready as error:
            finding = Finding(level="blocking", where="worker", message=str(error))
            return WorkerEntry(manifest=manifest, ready=False, findings=[finding])
        return WorkerEntry(manifest=manifest, ready=True, description=description)


def _unready(worker: UnreadableWorker) -> WorkerEntry:
    finding = Finding(level="blocking", where="manifest", message=worker.reason)
    return WorkerEntry(manifest=worker.manifest, ready=False, findings=[finding])
