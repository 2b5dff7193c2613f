"""All that the checks of a spec look at, gathered once: from here on they ask nobody."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mosaic_base.nearest import nearest_names
from mosaic_contracts.fault import fault_place, fault_text
from mosaic_contracts.preflight import PlacementPlan
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import RecorderStatus
from mosaic_contracts.spec import RunKind, RunSpec
from mosaic_contracts.stack import RUNS_DIR
from mosaic_contracts.sweeps import STUDY_FILE
from mosaic_contracts.worker import CheckReport, WorkerDescription
from mosaic_contracts.xmpp import XmppServer
from mosaic_scheduler.admission import plan
from mosaic_scheduler.admission.branches import BranchLook, look_at_branch
from mosaic_scheduler.admission.check import MAX_FINDINGS, Check, from_finding, wrong
from mosaic_scheduler.admission.inputs import InputResolution
from mosaic_scheduler.admission.past_sizes import PastSizes, SpaceNeed
from mosaic_scheduler.admission.tracker_look import ReachLook, TrackerLooks
from mosaic_scheduler.admission.trial_specs import trial_specs
from mosaic_scheduler.disk.watch import WRITING_KINDS, VolumeWatch
from mosaic_scheduler.errors import EngineUnavailable, LaunchFailed, XmppUnavailable
from mosaic_scheduler.events.episodes import RecordedEpisodes
from mosaic_scheduler.executors.job_images import JobImages
from mosaic_scheduler.executors.preview import preview_launch
from mosaic_scheduler.executors.protocol import (
    Bounds,
    EngineQueue,
    Executor,
    Forecast,
    Inventory,
)
from mosaic_scheduler.executors.run_folder import fault_words
from mosaic_scheduler.gpus.offer import Devices
from mosaic_scheduler.gpus.stock import GpuStock, GpuSupply
from mosaic_scheduler.problem import refused
from mosaic_scheduler.reconcile.dispatch import Dispatcher
from mosaic_scheduler.retention.profiles import ProfileFile
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.secrets import SecretVault
from mosaic_scheduler.settings import SchedulerSettings
from mosaic_scheduler.workers.catalogue import WorkerCatalogue
from mosaic_scheduler.workers.registry import IMAGE_PYTHON, RegisteredWorker
from mosaic_scheduler.xmpp.accounts import agents_of
from mosaic_scheduler.xmpp.examination import examine
from mosaic_scheduler.xmpp.server import read_server
from mosaic_servicekit.bus import Bus

RECORDER_TIMEOUT_S = 2.0
_INVALID = ProblemCode.SPEC_INVALID


@dataclass(frozen=True)
class DiskSpace:
    """The disk below MOSAIC_HOME."""

    home: Path
    free_bytes: int
    reserve_bytes: int
    fault: str | None
    """Why no run can have a folder; None: it can, or there is too little space anyway."""
    critical_bytes: int = 0
    """Free bytes below which runs are asked to stop."""
    waiting_reason: str | None = None
    """Why a training would wait for space; None: it would not."""


@dataclass(frozen=True)
class XmppLook:
    """The stack's XMPP server, for a run whose agents need it."""

    agents: int
    server: XmppServer | None = None
    fault: XmppUnavailable | None = None


@dataclass(frozen=True)
class Context:
    """A spec, its worker, and the state of this stack."""

    spec: RunSpec
    """With every name in it made whole."""
    worker: RegisteredWorker
    description: WorkerDescription
    wrong_inputs: list[Check]
    """Checkpoints that the spec names and that cannot be had."""
    answer: CheckReport | None
    """The worker's own check, where the spec names an environment that its description does not list."""
    may_need_consent: bool
    inventory: Inventory
    bounds: Bounds
    machine_mb: int
    """Memory of this machine, or of the largest node of a cluster."""
    cpus_in_use: int
    outside: Mapping[RunKind, int]
    """Runs that live outside the queue, by kind."""
    stock: GpuStock
    devices: Devices
    secrets: list[str]
    """Names of the secrets that the stack keeps."""
    xmpp: XmppLook
    has_parent: bool
    """The run that the spec names as its parent is there, or the spec names none."""
    disk: DiskSpace
    need: SpaceNeed | None = None
    """Bytes that the run will need; None: nobody knows."""
    branch: BranchLook = field(default_factory=BranchLook)
    """The recorded episode at which the run begins."""
    storage_profiles: Sequence[str] = ()
    """Names of the storage profiles."""
    runs_url: str = ""
    """The broker as runs reach it."""
    reach: ReachLook | None = None
    """The server of its tracker; None: it sends nothing while it runs."""
    sweep: "SweepLook" = field(default_factory=lambda: SweepLook())
    """What the runs of a sweep's trials would be."""
    image_fault: str = ""
    """Why its worker's image for jobs of a cluster cannot be used; empty: it can, or none is needed."""


@dataclass(frozen=True)
class SweepLook:
    """The runs that a sweep would start, and the sweep that it goes on with."""

    trials: Sequence[tuple[str, Context]] = ()
    """For each environment its field of the spec, and a run of a trial in it."""
    faults: Sequence[Check] = ()
    """What is wrong with their spec, so that there is none."""
    earlier: RunRecord | None = None
    """The sweep that it goes on with."""
    has_study: bool = False
    """Whether the study of that one is there."""
    continued_by: str | None = None
    """Another sweep that goes on with it already."""


def parse_spec(data: dict[str, Any]) -> tuple[RunSpec | None, list[Check]]:
    """Read a spec as a person sent it: the spec, or what is wrong with it."""
    try:
        return RunSpec.model_validate(data), []
    except ValidationError as error:
        return None, [_wrong_field(entry) for entry in error.errors()[:MAX_FINDINGS]]


def lists_environment(spec: RunSpec, description: WorkerDescription) -> bool:
    """Whether the worker describes this environment. One that describes none takes what its libraries can make."""
    known = [environment.id for environment in description.environments]
    is_own = description.own_environments and ":" in spec.environment
    return not known or is_own or spec.environment in known


class ContextSource:
    """Asks the services of the stack for what the checks look at."""

    def __init__(
        self,
        settings: SchedulerSettings,
        store: RunStore,
        catalogue: WorkerCatalogue,
        vault: SecretVault,
        executor: Executor,
        gpus: GpuSupply,
        dispatcher: Dispatcher,
        bus: Bus,
        trackers: TrackerLooks,
        profiles: ProfileFile,
        volumes: VolumeWatch,
        sizes: PastSizes,
        engine_queue: EngineQueue | None = None,
        images: JobImages | None = None,
    ) -> None:
        self._engine_queue = engine_queue
        self._settings = settings
        self._store = store
        self._catalogue = catalogue
        self._inputs = InputResolution(settings.home, store)
        self._vault = vault
        self._executor = executor
        self._gpus = gpus
        self._dispatcher = dispatcher
        self._bus = bus
        self._episodes = RecordedEpisodes(bus)
        self._trackers = trackers
        self._volumes = volumes
        self._sizes = sizes
        self._profiles = profiles
        self._images = images

    @property
    def uses_images(self) -> bool:
        """Whether workers live in container images here."""
        return self._executor.name == "docker"

    async def gpu_stock(self) -> GpuStock:
        """The GPUs of this machine, as far as runs can have them."""
        return await self._gpus.stock()

    async def gather(self, spec: RunSpec) -> Context:
        """Find the worker, complete the spec, and gather the rest. Raises ProblemError: the worker cannot be used."""
        worker = self._catalogue.find(spec.worker)
        description = await self._catalogue.describe(worker)
        spec = spec.model_copy(update={"worker": worker.manifest.id})
        spec, branch = await look_at_branch(spec, self._store, self._episodes)
        spec, wrong_inputs = await self._inputs.resolve(spec, description)
        spec = self._trackers.with_address(spec, description)
        is_listed = lists_environment(spec, description)
        inventory = await self._executor.inventory()
        return Context(
            spec=spec,
            worker=worker,
            description=description,
            wrong_inputs=wrong_inputs,
            answer=None if is_listed else await self._ask(worker, spec, description),
            may_need_consent=await self._catalogue.may_need_consent(worker),
            inventory=inventory,
            bounds=self._executor.bounds,
            machine_mb=inventory.memory_mb or machine_memory_mb(),
            cpus_in_use=self._dispatcher.load.cpu_in_use,
            outside=self._dispatcher.load.outside,
            stock=await self._gpus.stock(patient=spec.gpus > 0),
            devices=await self._gpus.devices(),
            secrets=await asyncio.to_thread(self._vault.names),
            xmpp=await self._look_at_xmpp(spec, description),
            has_parent=spec.parent is None or await self._store.get(spec.parent) is not None,
            disk=await self.disk(),
            need=await self._need(spec, description),
            branch=branch,
            sweep=await self._look_at_sweep(spec),
            storage_profiles=list(self._profiles.content().profiles),
            runs_url=self._settings.runs_url,
            reach=await self._trackers.look(spec, description),
            image_fault=await self._look_at_image(spec, worker),
        )

    async def _look_at_image(self, spec: RunSpec, worker: RegisteredWorker) -> str:
        if self._images is None:
            return ""
        image, command = worker.manifest.image, worker.image_command
        return await asyncio.to_thread(self._images.fault, image, command, spec.kind)

    async def _look_at_sweep(self, spec: RunSpec) -> SweepLook:
        if spec.sweep is None:
            return SweepLook()
        trials: list[tuple[str, Context]] = []
        faults: list[Check] = []
        for place, data in trial_specs(spec.sweep):
            trial, found = parse_spec(data)
            if trial is None or trial.kind is not RunKind.TRAIN:
                faults = found or [wrong("kind", "the runs of a sweep are trainings", _INVALID)]
                break
            trials.append((place, await self._look_at_trial(trial)))
        if trials and not faults:
            faults = await self._ask_for_trials(trials[0][1])
        earlier = await self._earlier(spec.sweep.continues)
        study = self._settings.home / RUNS_DIR / (spec.sweep.continues or "") / STUDY_FILE
        return SweepLook(
            trials,
            faults,
            earlier,
            earlier is not None and await asyncio.to_thread(study.is_file),
            None if earlier is None else await self._store.continued_by(earlier.run_id),
        )

    async def _look_at_trial(self, spec: RunSpec) -> Context:
        try:
            return await self.gather(spec)
        except ProblemError as error:
            if error.problem.code != ProblemCode.WORKER_UNKNOWN:
                raise
            message = error.problem.detail
            raise refused(
                [wrong("sweep.run.worker", message, error.problem.code).finding()]
            ) from error

    async def _ask_for_trials(self, trial: Context) -> list[Check]:
        """What the worker itself refuses of the trials' runs, and the consent that they need. One answer is for all."""
        spec = trial.spec
        needs_word = trial.may_need_consent or spec.internet or spec.consent is not None
        if not needs_word and not spec.gpus:
            return []
        report = await self.ask_worker(trial)
        if not report.ok:
            return [from_finding(each, "sweep") for each in report.findings]
        consent = plan.check_consent(trial.spec, report).problem
        if consent is None:
            return []
        said = consent.problem
        return [wrong("consent", said.detail, said.code, [plan.digest_of(report)])]

    async def _earlier(self, run_id: str | None) -> RunRecord | None:
        found = None if run_id is None else await self._store.get(run_id)
        return None if found is None else found.record

    async def ask_worker(self, context: Context) -> CheckReport:
        """The worker's plan, and all that needs consent, by the spec or by the worker."""
        report = await self._ask(context.worker, context.spec, context.description)
        return plan.with_reach(report, context.reach.fault if context.reach else "")

    async def launch_plan(self, context: Context) -> PlacementPlan | None:
        """What would be started; None: the engine, or the image, went away since its worker answered."""
        worker = context.worker
        launch_spec = preview_launch(
            context.spec,
            worker.python,
            worker.command,
            worker.manifest.image,
            image_python=IMAGE_PYTHON,
            image_command=worker.image_command,
            talks=context.xmpp.agents > 0,
            proxies=self._settings.proxies.of_run(context.spec, context.description),
        )
        try:
            return await self._executor.plan(launch_spec)
        except (EngineUnavailable, LaunchFailed):
            return None

    async def forecast(self, spec: RunSpec) -> Forecast | None:
        """What the cluster says of the run; None: there is none, or it went away."""
        if self._engine_queue is None:
            return None
        try:
            return await self._engine_queue.forecast(spec)
        except EngineUnavailable:
            return None

    async def disk(self) -> DiskSpace:
        """The disk as it is now."""
        home, reserve = self._settings.home, self._settings.disk_reserve_bytes
        found = await asyncio.to_thread(_look_at_disk, home, reserve)
        return replace(
            found,
            critical_bytes=self._settings.critical_bytes,
            waiting_reason=self._volumes.waiting_reason(RunKind.TRAIN),
        )

    async def _need(self, spec: RunSpec, description: WorkerDescription) -> SpaceNeed | None:
        is_written = spec.kind in WRITING_KINDS
        return await self._sizes.need(spec, description) if is_written else None

    async def recorder(self) -> RecorderStatus | None:
        """State of the recorder; None: it does not answer."""
        try:
            return await self._bus.request(
                "recorder", "status", None, RecorderStatus, RECORDER_TIMEOUT_S
            )
        except ProblemError:
            return None

    async def _ask(
        self, worker: RegisteredWorker, spec: RunSpec, description: WorkerDescription
    ) -> CheckReport:
        asked = self._inputs.for_check(spec, description, sees_files=self._executor.bounds.files)
        report = await self._catalogue.check(worker, plan.without_consent(asked))
        return plan.with_needs(spec, report)

    async def _look_at_xmpp(self, spec: RunSpec, description: WorkerDescription) -> XmppLook:
        agents = agents_of(spec, description)
        if not agents:
            return XmppLook(0)
        try:
            server = await asyncio.to_thread(read_server, self._settings.home)
            await examine(server)
        except XmppUnavailable as error:
            return XmppLook(agents, fault=error)
        return XmppLook(agents, server.facts)


def write_fault(folder: Path) -> str | None:
    """Why nothing can be made in `folder`, and what to do; None: it can be written. The folder is made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        Path(tempfile.mkdtemp(prefix=".probe-", dir=folder)).rmdir()
    except OSError as error:
        return fault_words(folder, error)
    return None


def _look_at_disk(home: Path, reserve_bytes: int) -> DiskSpace:
    folder = home
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    fault = None if free < reserve_bytes else write_fault(home / RUNS_DIR)
    return DiskSpace(home, free, reserve_bytes, fault)


def machine_memory_mb() -> int:
    """MiB of memory that this machine has, swap apart."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20


def _wrong_field(entry: Any) -> Check:
    where, message = fault_place(entry), fault_text(entry)
    nearest: list[str] = []
    if entry["type"] == "extra_forbidden":
        nearest = nearest_names(where, RunSpec.model_fields)
        if nearest:
            message += f"; did you mean {nearest[0]!r}?"
    return wrong(where or "spec", message, ProblemCode.SPEC_INVALID, nearest)
