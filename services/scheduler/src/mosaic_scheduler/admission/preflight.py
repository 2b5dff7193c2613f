"""Whether a run would start now, line by line. Nothing is started but the worker's own `check`."""

import asyncio

from mosaic_contracts.preflight import PlacementPlan, PreflightLine, PreflightReport
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.services import RecorderStatus, SubmitRequest
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.stack import RUNS_DIR
from mosaic_contracts.worker import CheckReport, WorkerDescription
from mosaic_scheduler import problem
from mosaic_scheduler.admission import consent, lines
from mosaic_scheduler.admission.bounds import machine_memory_mb
from mosaic_scheduler.admission.device import device_need, of_device
from mosaic_scheduler.admission.fields import parse_spec
from mosaic_scheduler.admission.submission import RunSubmission
from mosaic_scheduler.admission.tracking import of_tracking
from mosaic_scheduler.admission.xmpp import ready_words
from mosaic_scheduler.disk import free_bytes, write_fault
from mosaic_scheduler.errors import PlacementUnavailable
from mosaic_scheduler.gpus.stock import GpuSupply
from mosaic_scheduler.placement.preview import order_to_look_at
from mosaic_scheduler.reconcile.loop import Reconciler
from mosaic_scheduler.settings import SchedulerSettings
from mosaic_scheduler.workers.catalogue import WorkerCatalogue
from mosaic_scheduler.workers.registry import RegisteredWorker
from mosaic_scheduler.xmpp.accounts import agents_of
from mosaic_servicekit.bus import Bus, Verb


class Preflight:
    """The verb `preflight`."""

    def __init__(
        self,
        settings: SchedulerSettings,
        bus: Bus,
        catalogue: WorkerCatalogue,
        submission: RunSubmission,
        reconciler: Reconciler,
        gpus: GpuSupply,
    ) -> None:
        self._settings = settings
        self._bus = bus
        self._catalogue = catalogue
        self._submission = submission
        self._reconciler = reconciler
        self._gpus = gpus

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {"preflight": (SubmitRequest, self.preflight)}

    async def preflight(self, request: SubmitRequest) -> PreflightReport:
        """All lines, in the order in which a person would look at them."""
        spec, findings = parse_spec(request.spec)
        found = lines.of_findings(findings)
        report: CheckReport | None = None
        if spec is not None:
            more, report = await self._of_spec(spec)
            found += more
        launch = await self._launch(spec) if spec is not None and report is not None else None
        if launch is not None:
            found.append(lines.of_image(launch))
        found += [*await asyncio.to_thread(self._of_disk, spec), *await self._of_services()]
        if spec is not None and report is not None:
            found.append(lines.of_consent(spec, report))
        return PreflightReport(
            ok=all(line.level != "blocking" for line in found),
            lines=found,
            plan=report.plan if report else {},
            launch=launch,
            needs=report.needs if report else [],
            digest=consent.digest_of(report) if report else "",
        )

    async def _of_spec(self, spec: RunSpec) -> tuple[list[PreflightLine], CheckReport | None]:
        try:
            worker, spec, findings = await self._submission.judged(spec)
        except ProblemError as error:
            return [self._of_worker(error)], None
        found = [lines.ok("worker", f"{worker.manifest.title} answers.")]
        found += lines.of_findings(findings)
        found += await self._well(worker, spec, {line.id for line in found})
        if any(line.level == "blocking" for line in found):
            return found, None
        try:
            report = await self._submission.ask_worker(worker, spec)
        except ProblemError as error:
            return [*found, lines.refused("plan", error, "See `./mosaic workers`.")], None
        said = lines.of_plan(report)
        lacks = {line.id for line in said} & {"packages"}
        found = [line for line in found if line.id not in lacks]
        return [*found, *said], report if report.ok else None

    def _of_worker(self, error: ProblemError) -> PreflightLine:
        """One that is known and cannot be asked lacks its image where it lives in one."""
        is_known = error.problem.code == ProblemCode.WORKER_NOT_READY
        if is_known and self._reconciler.placement.name == "docker":
            return lines.refused("image", error, "Do that, and ask again.")
        return lines.refused("worker", error, "See `./mosaic workers`.")

    async def _well(
        self, worker: RegisteredWorker, spec: RunSpec, said: set[str]
    ) -> list[PreflightLine]:
        """Lines of the topics of which no finding speaks."""
        description = await self._catalogue.describe(worker)
        limit = (await self._reconciler.placement.inventory()).cpus
        bounds = self._reconciler.placement.bounds
        well = [
            lines.ok("spec", "Every field is understood."),
            lines.of_cores(spec, limit - self._reconciler.load.cpu_in_use, limit),
            lines.of_memory(spec, bounds, machine_memory_mb()),
            lines.of_internet(spec, bounds),
            await self._of_device(worker, spec, description),
            *lines.of_packages(description),
            lines.of_secrets(spec),
            *lines.of_restart(spec, description),
            *of_tracking(spec, description, await self._submission.secrets_kept()),
        ]
        agents = agents_of(spec, description)
        if agents and "xmpp" not in said:
            well.append(lines.ok("xmpp", ready_words(self._settings.home, agents)))
        return [line for line in well if line.id not in said]

    async def _launch(self, spec: RunSpec) -> PlacementPlan | None:
        worker = self._catalogue.find(spec.worker)
        talks = bool(agents_of(spec, await self._catalogue.describe(worker)))
        order = order_to_look_at(
            spec,
            worker.python,
            worker.command,
            worker.manifest.image,
            talks=talks,
            proxies=self._settings.proxies,
        )
        try:
            return await self._reconciler.placement.plan(order)
        except PlacementUnavailable:
            return None  # the engine went away since its worker answered; its own line says so next time

    async def _of_device(
        self, worker: RegisteredWorker, spec: RunSpec, description: WorkerDescription
    ) -> PreflightLine:
        need = device_need(spec, worker.manifest, description)
        return of_device(spec, need, await self._gpus.stock(), await self._gpus.devices())

    def _of_disk(self, spec: RunSpec | None) -> list[PreflightLine]:
        free, reserve = free_bytes(self._settings.home), self._settings.disk_reserve_bytes
        if free < reserve:
            error = problem.disk_low(self._settings.home, free, reserve)
            return [lines.refused("disk", error, "Free some space, e.g. with `./mosaic rm`.")]
        fault = write_fault(self._settings.home / RUNS_DIR)
        if fault is not None:
            return [lines.refused("disk", problem.folder_refused(fault), "Do that, and ask again.")]
        return [lines.of_disk(spec.outbox_bytes if spec else 0, free, reserve)]

    async def _of_services(self) -> list[PreflightLine]:
        status: RecorderStatus | None
        try:
            status = await self._bus.request("recorder", "status", None, RecorderStatus, 2.0)
        except ProblemError:
            status = None
        # The request came over the broker; without one there is no answer at all.
        return [lines.ok("broker", "Connected."), lines.of_recorder(status)]
