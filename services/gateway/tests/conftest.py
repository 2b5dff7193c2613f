"""A gateway process on a real broker and a real store, with a stand-in for scheduler and recorder on that broker."""

import asyncio
import json
import os
import resource
import shutil
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, settings
from pydantic import ValidationError
from tests.alert_answers import alert_answers
from tests.run_records import make_record
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from mosaic_contracts import subjects
from mosaic_contracts.access import SecretEntries, SecretEntry
from mosaic_contracts.deletion import DeletionReport
from mosaic_contracts.gpus import DeviceState, ForeignUser, GpuDevice, GpuReport
from mosaic_contracts.group_words import GroupKind
from mosaic_contracts.groups import GroupPlan, GroupView
from mosaic_contracts.live import SUBPROTOCOL_JSON
from mosaic_contracts.machine import GpuState, MachineHistory
from mosaic_contracts.manifest import FileReport, ReportedFile
from mosaic_contracts.preflight import PreflightLine, PreflightReport
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.run_archives import (
    ArchiveImport,
    ArchiveOrder,
    FreedRun,
    FreeOrder,
    FreeRequest,
)
from mosaic_contracts.run_search import facts_of, parse_search
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import (
    CloneOrder,
    Committed,
    DashboardOrder,
    DeleteRequest,
    ForkOrder,
    GroupListRequest,
    GroupOrder,
    GroupRequest,
    GroupViews,
    ImportOrder,
    ListRequest,
    MachineRequest,
    MoveRequest,
    NoRequest,
    PatchRequest,
    PlayOrder,
    RecorderStatus,
    ReplayOrder,
    RunIds,
    RunRecords,
    RunRequest,
    SchedulerStatus,
    SecretRequest,
    SetSecretRequest,
    SubmitRequest,
    SweepOrder,
    SweepResumption,
    SyncOrder,
    TrialOrder,
    WorkerEntries,
    WorkerEntry,
)
from mosaic_contracts.spec import RunKind
from mosaic_contracts.states import RunState, shown_state
from mosaic_contracts.storage import StorageProfiles
from mosaic_contracts.storage_reports import (
    PruneOrder,
    PrunePlan,
    PruneResult,
    StorageProfileList,
    StorageQuery,
    StorageReport,
    UndoOrder,
    UndoResult,
)
from mosaic_contracts.store_upkeep import StoreSpace
from mosaic_contracts.sync_source import SyncSource, SyncWay
from mosaic_contracts.syncs import SyncPlan
from mosaic_contracts.verbs import VERBS
from mosaic_contracts.wire import BATCH_HEADER, ENCODING_HEADER
from mosaic_contracts.worker import CheckReport, WorkerManifest
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.testing import TestBroker, free_port
from mosaic_store import StreamCursor, Writer, open_writer, read_batch
from mosaic_store.testing import Message

# The machine may be busy: an example passes or fails by its result, not by its time.
settings.register_profile("mosaic", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mosaic")

NEW_RUN = "01JGXSBMTTED00000000000000"
"""What is submitted becomes this run."""
GROUP_ID = "g01JGXSYNTHET1CRVN000000099"
NO_TLS = ssl.create_default_context()
"""For clients that speak plain HTTP: httpx reads all authorities of the system for each client without one."""
CURSOR = StreamCursor("2026-01-01T00:00:00Z", 1)


def _fits(record: RunRecord, request: ListRequest) -> bool:
    """Whether a scheduler would list `record`, by the filters that tests use."""
    spec = record.spec
    return (
        (not request.states or shown_state(record.state, record.started_at) in request.states)
        and (not request.workers or spec.worker in request.workers)
        and (request.text or "") in record.name
        and (not request.kinds or spec.kind in request.kinds)
        and request.parent in (None, spec.parent)
        and (request.trials or record.trial is None)
        and (not request.run_ids or record.run_id in request.run_ids)
        and set(request.tags or ()) <= set(record.tags)
        and (record.deleted_at is not None) == request.deleted
        and _is_found(record, request.search)
    )


def _is_found(record: RunRecord, text: str) -> bool:
    facts = facts_of(record.model_dump(mode="json"))
    search = parse_search(text).of_record.with_parameters(facts.parameters, strict=False)
    return search.record_test(time.time())(facts)


class Peers:
    """Answers as scheduler and recorder, publishes as a shipper, commits as the recorder."""

    def __init__(self, bus: Bus, writer: Writer) -> None:
        self.bus = bus
        self.writer = writer
        self.records: dict[str, RunRecord] = {}
        self.submitted: list[dict[str, Any]] = []
        self.page_limit = 1000
        self.committed: set[str] = set()
        self.asked: list[Any] = []
        """Requests to the scheduler that change or select something, as they came."""
        self.stopped: list[str] = []
        self.trials: dict[str, RunRecord | ProblemError] = {}
        """What is answered to the order of a trial, by its key."""
        self.secrets: dict[str, str] = {}
        self.by_key: dict[str, RunRecord] = {}
        self.broker_ahead_s: float | None = None
        self.started_at = datetime.now(UTC)
        """Start of the scheduler, as its status says."""
        self.importing, self.may_import = asyncio.Event(), asyncio.Event()
        """Set once an import has come, and while imports are answered."""
        self.may_import.set()

    async def serve(self) -> None:
        """Answer the verbs that the gateway uses."""
        handlers: dict[str, Any] = {
            "get": self._get,
            "list": self._list,
            "stop": self._stop,
            "restore": self._get,
            "report_files": self._report_files,
            "retry": self._retry,
            "resume": self._retry,
            "clone": self._clone,
            "play": self._clone,
            "fork": self._clone,
            "import": self._import,
            "import_archive": self._import_archive,
            "free": self._free,
            "replay": self._replay,
            "dashboard": self._dashboard,
            "group": self._group,
            "groups": self._groups,
            "get_group": self._get_group,
            "stop_group": self._get_group,
            "retry_group": self._get_group,
            "delete_group": self._get_group,
            "restore_group": self._get_group,
            "sweep": self._sweep,
            "resume_sweep": self._resume_sweep,
            "trial": self._trial,
            "sync": self._sync,
            "patch": self._noted,
            "move": self._noted,
            "delete": self._noted,
            "deletion": self._deletion,
            "queue": self._queue,
            "machine": self._machine,
            "gpus": self._gpus,
            "storage": self._storage,
            "plan_prune": self._plan_prune,
            "prune": self._prune,
            "undo_prune": self._undo_prune,
            "storage_profiles": self._storage_profiles,
            **alert_answers(self.asked),
            "secrets": self._secrets,
            "set_secret": self._set_secret,
            "delete_secret": self._delete_secret,
            "submit": self._submit,
            "preflight": self._preflight,
            "workers": self._workers,
            "status": self._status,
        }
        requests = {verb.name: verb.request for verb in VERBS if verb.service == "scheduler"}
        scheduler: dict[str, Any] = {
            name: (None if requests[name] is NoRequest else requests[name], handler)
            for name, handler in handlers.items()
        }
        await self.bus.serve("scheduler", scheduler)
        await self.bus.serve("recorder", {"status": (None, self._recorder_status)})

    async def publish(self, message: Message) -> None:
        """As a shipper."""
        headers = {BATCH_HEADER: message.head.header(), ENCODING_HEADER: message.encoding}
        await self.bus.publish(subjects.events(message.head.run_id), message.payload, headers)

    async def commit(self, messages: Sequence[Message]) -> None:
        """As the recorder."""
        self.committed.update(message.head.run_id for message in messages)
        stored = [read_batch(m.payload, m.encoding) for m in messages]
        await asyncio.to_thread(self.writer.apply, stored, CURSOR)
        await self.say_committed(messages[0].head.run_id)

    async def say_committed(self, run_id: str) -> None:
        """As the recorder, once a run goes quiet."""
        committed = Committed(run_id=run_id, marks=self.writer.marks(run_id))
        await self.bus.publish(subjects.committed(run_id), committed.model_dump_json().encode())

    async def change(self, record: RunRecord) -> None:
        """As the scheduler, after a write."""
        self.records[record.run_id] = record
        await self.bus.publish(subjects.RUN_CHANGED, record.model_dump_json().encode())

    async def _get(self, request: RunRequest) -> RunRecord:
        if request.run_id not in self.records:
            raise ProblemError(Problem(code=ProblemCode.RUN_UNKNOWN, title="no such run"))
        return self.records[request.run_id]

    async def _list(self, request: ListRequest) -> RunRecords | RunIds:
        if request.kinds not in ([RunKind.SWEEP.value], [RunKind.SYNC.value]):
            # The gateway itself asks for these now and then.
            self.asked.append(request)
        ids = sorted((i for i in self.records if i < (request.before or "~")), reverse=True)
        found = [r for i in ids if _fits(r := self.records[i], request)]
        if request.brief:
            return self._brief(found, request.value)
        asked = found[: request.limit]
        runs = asked[: self.page_limit]
        return RunRecords(runs=runs, cut=len(runs) < len(asked))

    def _brief(self, found: list[RunRecord], value: str | None) -> RunIds:
        """As the scheduler's, by pages of `page_limit`."""
        page = found[: self.page_limit]
        rows = [record.model_dump(mode="json") for record in page]
        values = [row[value] for row in rows] if value and value != "origin" else None
        if value == "origin":
            names = ("worker", "algorithm", "environment", "kind")
            values = [json.dumps([row["spec"][name] for name in names]) for row in rows]
        return RunIds(
            run_ids=[record.run_id for record in page],
            values=values,
            cut=len(page) < len(found),
        )

    async def _noted(self, request: PatchRequest | MoveRequest | DeleteRequest) -> RunRecord:
        self.asked.append(request)
        return await self._get(RunRequest(run_id=request.run_id))

    async def _deletion(self, request: RunRequest) -> DeletionReport:
        run = await self._get(request)
        return DeletionReport(run_id=run.run_id, freed_bytes=7, bytes_by_kind={"events": 7})

    async def _retry(self, request: RunRequest) -> RunRecord:
        return make_record(NEW_RUN, "queued", parent=(await self._get(request)).run_id)

    async def _clone(self, request: CloneOrder | PlayOrder | ForkOrder) -> RunRecord:
        self.asked.append(request)
        return await self._retry(RunRequest(run_id=request.run_id))

    async def _import(self, request: ImportOrder) -> RunRecord:
        """As the scheduler's: one key, one run. What a worker would refuse is not in the bytes here."""
        self.asked.append(request)
        self.importing.set()
        await self.may_import.wait()
        made = make_record(NEW_RUN, "succeeded", created_at=datetime.now(UTC).isoformat())
        return self.by_key.setdefault(request.idempotency_key or request.upload, made)

    async def _import_archive(self, request: ArchiveOrder) -> ArchiveImport:
        self.asked.append(request)
        return ArchiveImport(sha256=request.sha256, runs=[])

    async def _free(self, request: FreeOrder) -> FreedRun:
        """As the scheduler's: it reads what the user sent."""
        try:
            FreeRequest.model_validate(request.asked)
        except ValidationError as error:
            problem = Problem(code=ProblemCode.REQUEST_INVALID, title="no", detail=str(error))
            raise ProblemError(problem) from error
        return FreedRun(run_id=(await self._get(RunRequest(run_id=request.run_id))).run_id)

    async def _replay(self, request: ReplayOrder) -> RunRecord:
        """As the scheduler's: one replay of an episode answers every request for it."""
        self.asked.append(request)
        parent = (await self._get(RunRequest(run_id=request.run_id))).run_id
        return self.by_key.setdefault(f"{parent} {request.replay}", make_record(NEW_RUN, "queued"))

    async def _dashboard(self, request: DashboardOrder) -> RunRecord:
        """As the scheduler's: one dashboard of a selection answers every request for it."""
        self.asked.append(request)
        record = make_record(NEW_RUN, "running")
        spec = record.spec.model_copy(update={"kind": RunKind.DASHBOARD})
        made = record.model_copy(update={"spec": spec})
        self.records[NEW_RUN] = made
        return self.by_key.setdefault(f"{request.dashboard}", made)

    async def _report_files(self, request: RunRequest) -> FileReport:
        """As the scheduler's, of a run whose folder has one file."""
        self.asked.append(request)
        file = ReportedFile(
            path="log.csv", kind="other", bytes=3, mtime_us=10**15, sha256="aa" * 32
        )
        return FileReport(files=[file])

    async def _stop(self, request: RunRequest) -> RunRecord:
        self.stopped.append(request.run_id)
        return await self._get(request)

    async def _group(self, request: GroupOrder) -> GroupView | GroupPlan:
        self.asked.append(request)
        return GroupPlan(ok=True, runs=4, expected_s=9.0) if request.dry_run else self._view()

    async def _groups(self, request: GroupListRequest) -> GroupViews:
        self.asked.append(request)
        return GroupViews(groups=[self._view()], next_cursor="0")

    async def _get_group(self, request: GroupRequest) -> GroupView:
        if request.group_id != GROUP_ID:
            raise ProblemError(Problem(code=ProblemCode.RUN_UNKNOWN, title="There is no group"))
        self.asked.append(request)
        return self._view()

    def _view(self) -> GroupView:
        return GroupView(
            group_id=GROUP_ID,
            kind=GroupKind.GROUP,
            name="a group",
            created_at=self.started_at,
            worker="cleanrl",
            algorithm="ppo",
            environments=["CartPole-v1"],
            total=4,
            counts={RunState.SUCCEEDED: len(self.records)},
            run_ids=sorted(self.records),
            spec={"run": {}},
        )

    async def _sweep(self, request: SweepOrder) -> RunRecord | CheckReport:
        if request.dry_run:
            return CheckReport(ok=True, findings=[], plan={"trials": 20})
        self.asked.append(request)
        return make_record(NEW_RUN, "queued")

    async def _resume_sweep(self, request: SweepResumption) -> RunRecord:
        self.asked.append(request)
        return await self._retry(RunRequest(run_id=request.run_id))

    async def _trial(self, request: TrialOrder) -> RunRecord:
        self.asked.append(request)
        answer = self.trials[request.key]
        if isinstance(answer, ProblemError):
            raise answer
        return answer

    async def _sync(self, request: SyncOrder) -> RunRecord | SyncPlan:
        """As the scheduler's: one living sync of a run answers every request for it."""
        self.asked.append(request)
        run_id = (await self._get(RunRequest(run_id=request.run_id))).run_id
        way: SyncWay = "folder" if request.sync.get("project") == "folder" else "store"
        source = SyncSource(run_id=run_id, way=way, address="http://wandb.test")
        if request.dry_run:
            return SyncPlan(
                run_id=run_id,
                way=way,
                address=source.address,
                project=None,
                entity=None,
                files=0,
                file_bytes=0,
            )
        record = make_record(NEW_RUN, "running")
        changes = {"kind": RunKind.SYNC, "sync": source, "parent": run_id}
        spec = record.spec.model_copy(update=changes)
        self.records[NEW_RUN] = record.model_copy(update={"spec": spec})
        return self.by_key.setdefault(f"sync {run_id}", self.records[NEW_RUN])

    async def _queue(self) -> RunRecords:
        return RunRecords(runs=[r for r in self.records.values() if r.state == "queued"])

    async def _machine(self, request: MachineRequest) -> MachineHistory:
        self.asked.append(request)
        return MachineHistory(interval_s=2.0, samples=[], gpu_note="no driver")

    async def _gpus(self) -> GpuReport:
        user = ForeignUser(kind="graphics", pid=7, name="Xorg", memory_bytes=2**28)
        device = GpuDevice(
            uuid="GPU-a", index=0, name="A", state=DeviceState.FOREIGN, foreign=[user]
        )
        return GpuReport(state=GpuState.OK, share_limit=4, devices=[device])

    async def _storage(self, request: StorageQuery) -> StorageReport:
        self.asked.append(request)
        if request.run is not None:
            await self._get(RunRequest(run_id=request.run))
        return StorageReport(run_count=len(self.records), checked_at=datetime.now(UTC))

    async def _plan_prune(self, request: PruneOrder) -> PrunePlan:
        self.asked.append(request)
        return PrunePlan(items=[], planned_at=datetime.now(UTC))

    async def _prune(self, request: PruneOrder) -> PruneResult:
        self.asked.append(request)
        return PruneResult(files=2, bytes=30, left=1)

    async def _undo_prune(self, request: UndoOrder) -> UndoResult:
        self.asked.append(request)
        return UndoResult(files=2, bytes=30)

    async def _storage_profiles(self) -> StorageProfileList:
        path = "storage_profiles.yaml"
        return StorageProfileList(path=path, exists=False, content=StorageProfiles())

    async def _secrets(self) -> SecretEntries:
        now = datetime.now(UTC)
        return SecretEntries(secrets=[SecretEntry(name=n, updated_at=now) for n in self.secrets])

    async def _set_secret(self, request: SetSecretRequest) -> SecretEntry:
        if request.name == "refused":
            quoted = f"{request.value.get_secret_value()!r} will not do"
            raise ProblemError(Problem(code=ProblemCode.REQUEST_INVALID, title="no", detail=quoted))
        self.secrets[request.name] = request.value.get_secret_value()
        return SecretEntry(name=request.name, updated_at=datetime.now(UTC))

    async def _delete_secret(self, request: SecretRequest) -> None:
        if self.secrets.pop(request.name, None) is None:
            raise ProblemError(Problem(code=ProblemCode.SECRET_UNKNOWN, title="no such secret"))

    async def _submit(self, request: SubmitRequest) -> RunRecord | CheckReport:
        if request.dry_run:
            return CheckReport(ok=True, findings=[])
        self.asked.append(request)
        self.submitted.append(request.spec)
        record = make_record(NEW_RUN)
        if request.idempotency_key is None:
            return record
        return self.by_key.setdefault(request.idempotency_key, record)

    async def _preflight(self, request: SubmitRequest) -> PreflightReport:
        self.asked.append(request)
        line = PreflightLine(id="disk", title="Disk", level="ok")
        return PreflightReport(ok=True, lines=[line])

    async def _workers(self) -> WorkerEntries:
        manifest = WorkerManifest(id="cleanrl", title="CleanRL", command=["{python}"])
        return WorkerEntries(workers=[WorkerEntry(manifest=manifest, ready=False)])

    async def _status(self) -> SchedulerStatus:
        return SchedulerStatus(
            version="0",
            cpu_limit=2,
            cpu_in_use=0,
            queued=0,
            live=0,
            broker_ahead_s=self.broker_ahead_s,
            started_at=self.started_at,
        )

    async def _recorder_status(self) -> RecorderStatus:
        store = StoreSpace(file_bytes=4096, free_bytes=0, wal_bytes=32)
        return RecorderStatus(
            version="0", cursor=0, stream_last=0, lag=0, accepting=True, store=store
        )


class Gateway:
    """A gateway process."""

    def __init__(
        self, home: Path, broker_url: str, files: int | None = None, **environment: str
    ) -> None:
        """`files`: how many file descriptors it may have."""
        self.home = home
        self._files = files
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = home / "gateway.log"
        self._env = {
            **os.environ,
            "MOSAIC_HOME": str(home),
            "MOSAIC_BROKER_URL": broker_url,
            "MOSAIC_GATEWAY_PORT": str(self.port),
            "MOSAIC_DISK_RESERVE_BYTES": "0",
            **environment,
        }
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start and wait until it answers."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "mosaic_gateway"],
                env=self._env,
                stdin=subprocess.DEVNULL,
                stderr=log,
                preexec_fn=self._limit_files,
            )
        deadline = time.monotonic() + 60
        with self.client(timeout=1) as http:
            while True:
                try:
                    http.get("/healthz")
                    return
                except httpx.TransportError:
                    assert self._process.poll() is None, self.log.read_text()
                    assert time.monotonic() < deadline, "the gateway did not start"
                    time.sleep(0.02)

    def wait_for_broker(self) -> None:
        """Wait until it is connected to its broker, which it does not announce."""
        deadline = time.monotonic() + 60
        with self.client(timeout=5) as http:
            while not http.get("/readyz").json()["services"]["broker"]:
                assert time.monotonic() < deadline, "the gateway does not reach the broker"
                time.sleep(0.02)

    def _limit_files(self) -> None:
        if self._files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (self._files, self._files))

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End it and return its exit code."""
        assert self._process is not None
        self._process.send_signal(number)
        return self._process.wait(timeout=60)

    @property
    def pid(self) -> int:
        """Process id."""
        assert self._process is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it lives."""
        return self._process is not None and self._process.poll() is None

    @property
    def token(self) -> str:
        """Its bearer token."""
        return (self.home / "secrets/gateway.token").read_text().strip()

    @property
    def headers(self) -> dict[str, str]:
        """What every request needs."""
        return {"Authorization": f"Bearer {self.token}"}

    def client(self, **options: Any) -> httpx.Client:
        """A client of its plain address."""
        return httpx.Client(base_url=self.url, trust_env=False, verify=NO_TLS, **options)

    def async_client(self, **options: Any) -> httpx.AsyncClient:
        """The same for an event loop."""
        return httpx.AsyncClient(base_url=self.url, trust_env=False, verify=NO_TLS, **options)

    def live(self, subprotocol: str = SUBPROTOCOL_JSON, **options: Any) -> connect:
        """A WebSocket to `/live`."""
        return connect(
            f"ws://127.0.0.1:{self.port}/api/v1/live",
            additional_headers=self.headers,
            subprotocols=[Subprotocol(subprotocol)],
            max_size=64 * 2**20,
            **{"proxy": None, **options},
        )

    async def get(self, path: str, **options: Any) -> httpx.Response:
        """GET below the prefix."""
        return await self.ask("GET", path, **options)

    async def ask(
        self, method: str, path: str, headers: dict[str, str] | None = None, **options: Any
    ) -> httpx.Response:
        """Any request below the prefix."""
        sent = {**self.headers, **(headers or {})}
        async with self.async_client(timeout=10) as http:
            return await http.request(method, f"/api/v1{path}", headers=sent, **options)


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root for all tests that break nothing; each cleans up its runs."""
    return tmp_path_factory.mktemp("mosaic")


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestBroker]:
    """A broker for all tests that break nothing."""
    with TestBroker(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture(scope="session")
def gateway(home: Path, broker: TestBroker) -> Iterator[Gateway]:
    """A gateway for all tests that break nothing: its start takes a second, of which there are too many."""
    process = Gateway(home, broker.url)
    process.start()
    yield process
    assert process.stop() == 0, process.log.read_text()


@asynccontextmanager
async def running_peers(home: Path, broker: TestBroker) -> AsyncIterator[Peers]:
    """Stand-ins on the broker, over an empty store."""
    bus = Bus(broker.url, "peers")
    await bus.start()
    try:
        await bus.connected.wait()
        with open_writer(home / "db" / "telemetry.sqlite3") as writer:
            peers = Peers(bus, writer)
            await peers.serve()
            try:
                yield peers
            finally:
                for run_id in peers.committed:
                    writer.prune(run_id)
                shutil.rmtree(home / "runs", ignore_errors=True)
    finally:
        # Also after a failure: a bus left open would go on and log into pytest's closed streams.
        await bus.close()


@pytest.fixture
async def peers(home: Path, broker: TestBroker) -> AsyncIterator[Peers]:
    """Stand-ins that are there from the start."""
    async with running_peers(home, broker) as peers:
        yield peers


@pytest.fixture
def make_peers() -> Any:
    """`async with make_peers(home, broker)` for stand-ins that come later."""
    return running_peers


Receive = Callable[[ClientConnection], Any]


async def receive(socket: ClientConnection, timeout_s: float = 60.0) -> dict[str, Any]:
    """The next frame of a JSON connection, parsed strictly."""

    def refuse(word: str) -> Any:
        raise AssertionError(f"{word} is not JSON")

    async with asyncio.timeout(timeout_s):
        frame: dict[str, Any] = json.loads(await socket.recv(), parse_constant=refuse)
    return frame


@pytest.fixture
def frames() -> Callable[..., Any]:
    """`await frames(socket)` is the next frame."""
    return receive


@pytest.fixture
def record() -> Callable[..., RunRecord]:
    """`record(run_id, state, revision)` makes a run's record."""
    return make_record


@pytest.fixture(scope="session")
def gateway_process() -> type[Gateway]:
    """`gateway_process(home, broker_url, **environment)` is a gateway that is not started yet."""
    return Gateway
