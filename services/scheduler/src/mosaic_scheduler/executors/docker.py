"""Executor `docker`: a run is one container of its worker's image, with the same runner, worker and shipper in it.

The container sees its own run folder, at the path that it has here, and nothing else of the host. The truth is the
runner's exit report in that folder; the engine is asked only whether the container lives and how it died.
"""

import asyncio
import hashlib
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import requests
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.models.containers import Container
from docker.types import LogConfig, Mount

from mosaic_contracts import launch
from mosaic_contracts.dashboards import EVENT_FILES_DIR, SELECTED_DIR, DashboardSource
from mosaic_contracts.gpus import GpuGrant
from mosaic_contracts.interpreter import python_module
from mosaic_contracts.launch import BROKER_DOOR, DOORS_DIR, XMPP_DOOR, Door
from mosaic_contracts.preflight import PlacementPlan
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.stack import RUNS_DIR
from mosaic_scheduler.errors import EngineUnavailable, LaunchFailed
from mosaic_scheduler.executors.engine import (
    LABEL_STACK,
    NO_NETWORK,
    Engine,
    asking_engine,
    explained,
    image_missing,
)
from mosaic_scheduler.executors.engine_watch import EngineWatch
from mosaic_scheduler.executors.event_folders import mountable
from mosaic_scheduler.executors.log_tail import last_lines
from mosaic_scheduler.executors.nvidia import (
    NO_DEVICES,
    NvidiaRuntime,
    device_settings,
    grant_labels,
    grant_of,
)
from mosaic_scheduler.executors.preview import plan_of
from mosaic_scheduler.executors.protocol import (
    ABSENT,
    AttemptPhase,
    AttemptRef,
    AttemptStatus,
    Bounds,
    GpuHold,
    Internet,
    Inventory,
    LaunchSpec,
)
from mosaic_scheduler.executors.run_folder import RUNNER_MODULE, RunFolder
from mosaic_scheduler.size_text import mib_text

LABEL_RUN = "mosaic.run"
LABEL_ATTEMPT = "mosaic.attempt"
LABEL_ROLE = "mosaic.role"
"""`run`, or `drain` of one that ships what a dead run left."""

PIDS = 4096
_OOM_SCORE = 100
"""A machine that runs out of memory ends a run before a service, whose score is 0."""
TMP = "/tmp"  # noqa: S108 - a file system of the container's own
TMP_BYTES = 2**30
_DOORS = "/run/mosaic/doors"
"""Where a run without a network finds the sockets of the stack."""
_LOOPBACK, _BROKER_PORT, _XMPP_PORT = "127.0.0.1", 4222, 5222
_HOST_NAME = "run"
"""Host name inside the container of a run without a network: some libraries look their own host's name up."""
MIB = 2**20
_DRAIN_MARGIN_S = 10.0
_LISTENS_S = 3.0
_STOP_MARGIN_S = 10
"""Beyond `grace_s`, when the engine itself stops a run: the runner then kills the worker and writes its report."""
_NO_WAY_OUT = "broker and XMPP server, and no way out"
_WAY_OUT = "broker and XMPP server, and the internet with whatever this machine reaches"
_REACH = {
    (internet, asked): _WAY_OUT
    if internet is Internet.OPEN or (asked and internet is Internet.ON_REQUEST)
    else _NO_WAY_OUT
    for internet in Internet
    for asked in (False, True)
}
"""What a run reaches, by what the stack can give and whether the run asks for it."""
_LIVING = ("running", "paused", "restarting")
_SIGTERM = 15
"""The engine's init hands it to the runner."""


@dataclass(frozen=True)
class _Program:
    """What a container runs, and within which limits."""

    role: str
    image: str
    argv: list[str]
    limits: dict[str, Any]
    internet: bool = False
    grant: GpuGrant | None = None
    stop_timeout_s: int | None = None
    """Seconds from SIGTERM to SIGKILL when the engine stops the container; None: the engine's own default."""
    selected: DashboardSource | None = None
    """Runs whose event files it sees, read-only."""


class DockerExecutor:
    """See `Executor`."""

    name = "docker"

    def __init__(self, home: Path, cores: int, engine: Engine) -> None:
        self._runs = home / RUNS_DIR
        self._cores = cores
        self._engine = engine
        self.bounds = Bounds(memory=True, internet=engine.internet)
        self._client = engine.connect()
        self._nvidia = NvidiaRuntime(self._client)
        self._callbacks: list[Callable[[], None]] = []
        self._owed: set[AttemptRef] = set()
        """Attempts to be swept once the engine is back."""
        self._watcher: EngineWatch | None = None

    async def inventory(self) -> Inventory:
        """Cores, and whether a container can be given a GPU."""
        return Inventory(self._cores, await asyncio.to_thread(self._nvidia.problem))

    async def ready(self) -> None:
        """See `Executor.ready`."""
        await asyncio.to_thread(self._ping)

    def _ping(self) -> None:
        with asking_engine():
            self._client.ping()

    async def plan(self, launch_spec: LaunchSpec) -> PlacementPlan:
        """See `Executor.plan`."""
        folder = self._folder(launch_spec.ref)
        network = (
            f"{self._engine.network}: {_REACH[self._engine.internet, launch_spec.spec.internet]}"
        )
        mounts = [f"{folder.path}: its own folder, and nothing else of this machine"]
        if self._has_doors:
            mounts.append(f"{_DOORS}: sockets of broker and XMPP server, its only way to the stack")
        plan = plan_of(self._through_doors(launch_spec), folder, self.name, mounts, network)
        memory = (
            f"{mib_text(launch_spec.spec.memory_mb)} of memory"
            if launch_spec.spec.memory_mb
            else "no limit on memory"
        )
        image = await asyncio.to_thread(self._image_words, launch_spec.image)
        return plan.model_copy(update={"image": image, "limits": [memory, *plan.limits]})

    def _image_words(self, image: str | None) -> str:
        if image is None:
            return ""
        try:
            return f"{image} ({self._pinned(image)})"
        except ImageNotFound:
            return f"{image} (not on this engine)"

    def _pinned(self, image: str) -> str:
        """Its digest. Raises ImageNotFound."""
        with asking_engine():
            return str(self._client.images.get(image).id)

    async def submit(self, launch_spec: LaunchSpec) -> None:
        """See `Executor.submit`."""
        if (await self.status(launch_spec.ref)).phase is not AttemptPhase.ABSENT:
            return
        await asyncio.to_thread(self._start, launch_spec)

    async def status(self, ref: AttemptRef) -> AttemptStatus:
        """See `Executor.status`."""
        return await asyncio.to_thread(self._status, ref)

    async def image(self, ref: AttemptRef) -> str | None:
        """See `Executor.image`."""
        launch_spec = await asyncio.to_thread(self._folder(ref).read_launch)
        return launch_spec.image if launch_spec is not None else None

    async def cancel(self, ref: AttemptRef, kill: bool = False) -> None:
        """See `Executor.cancel`."""
        await asyncio.to_thread(self._cancel, ref, kill)

    async def logs(self, ref: AttemptRef, lines: int) -> list[str]:
        """See `Executor.logs`."""
        path = self._folder(ref).path / launch.WORKER_LOG
        return await asyncio.to_thread(last_lines, path, lines)

    async def adopt(self) -> list[AttemptRef]:
        """See `Executor.adopt`."""
        found = await asyncio.to_thread(self._containers, "run")
        return [_ref_of(container) for container in found if container.status in _LIVING]

    async def gpu_holds(self) -> list[GpuHold]:
        """See `Executor.gpu_holds`: by the labels of containers."""
        found = await asyncio.to_thread(self._containers, "run")
        return [
            GpuHold(_ref_of(container), grant)
            for container in found
            if container.status in _LIVING and (grant := grant_of(container)) is not None
        ]

    async def sweep(self, ref: AttemptRef) -> int:
        """See `Executor.sweep`. With its container all of an attempt is gone; while the engine is away it is owed."""
        try:
            return await asyncio.to_thread(self._remove, ref)
        except EngineUnavailable:
            self._owed.add(ref)
            return 0

    async def sweep_orphans(self, may_live: Callable[[str], bool]) -> int:
        """Remove containers of runs of this stack that may not live (any more). Return how many lived."""
        return await asyncio.to_thread(self._sweep_orphans, may_live)

    async def drain(self, ref: AttemptRef, timeout_s: float) -> bool:
        """See `Executor.drain`."""
        return await asyncio.to_thread(self._drain, ref, timeout_s)

    def on_change(self, callback: Callable[[], None]) -> None:
        """See `Executor.on_change`."""
        self._callbacks.append(callback)
        if self._watcher is None:
            self._watcher = EngineWatch(
                self._engine, asyncio.get_running_loop(), self._changed, self._settle
            )
            self._watcher.start()

    def folder(self, ref: AttemptRef) -> Path:
        """The run's folder."""
        return self._folder(ref).path

    def close(self) -> None:
        """Stop watching; the containers go on."""
        if self._watcher is not None:
            self._watcher.stop()
        self._client.close()

    def _settle(self) -> None:
        """The engine is back: remove what could not be removed."""
        for ref in tuple(self._owed):
            self._remove(ref)
            self._owed.discard(ref)

    def _changed(self) -> None:
        for callback in self._callbacks:
            callback()

    def _folder(self, ref: AttemptRef) -> RunFolder:
        return RunFolder(self._runs / ref.run_id, ref)

    def _start(self, launch_spec: LaunchSpec) -> None:
        folder = self._folder(launch_spec.ref)
        image = launch_spec.image
        if image is None:
            raise LaunchFailed(
                f"worker {launch_spec.spec.worker} names no image; add `image` to its worker.toml"
            )
        try:
            # Pinned: what a tag means may change while the run waits for its turn.
            pinned = self._through_doors(replace(launch_spec, image=self._pinned(image)))
            folder.prepare(pinned)
            with asking_engine():
                self._make(pinned, folder).start()
        except ImageNotFound as error:
            raise LaunchFailed(image_missing(image)) from error
        except DockerException as error:
            self._remove(launch_spec.ref)
            raise LaunchFailed(
                f"The engine refused to start {image}: {explained(error)}"
            ) from error

    def _make(self, launch_spec: LaunchSpec, folder: RunFolder) -> Container:
        program = _Program(
            "run",
            str(launch_spec.image),
            python_module(launch_spec.python, RUNNER_MODULE, "--run-dir", str(folder.path)),
            {**_limits(launch_spec.spec), **device_settings(launch_spec.grant)},
            internet=launch_spec.spec.internet,
            grant=launch_spec.grant,
            stop_timeout_s=math.ceil(launch_spec.spec.grace_s) + _STOP_MARGIN_S,
            selected=launch_spec.spec.dashboard,
        )
        try:
            return self._create(launch_spec.ref, program)
        except APIError as error:
            if error.status_code != 409:
                raise
            # Made by a scheduler that died before it could start it.
            made = self._find(launch_spec.ref)
            if made is None:
                raise
            return made

    def _create(self, ref: AttemptRef, program: "_Program") -> Container:
        folder = self._folder(ref)
        devices = NO_DEVICES if program.grant is None else {}
        network, networks = self._networks(program.internet)
        host = self._client.api.create_host_config(
            network_mode=network,
            extra_hosts={_HOST_NAME: "127.0.0.1"} if self._has_doors else None,
            mounts=self._mounts(folder.path, program.selected),
            init=True,
            read_only=True,
            tmpfs={TMP: f"size={TMP_BYTES},mode=1777"},
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            pids_limit=PIDS,
            oom_score_adj=_OOM_SCORE,
            log_config=LogConfig(type="json-file", config={"max-size": "1m", "max-file": "1"}),
            **program.limits,
        )
        # Not by `containers.create`, which knows no `stop_timeout`.
        made = self._client.api.create_container(
            program.image,
            program.argv,
            entrypoint=[],
            name=self._free_name(ref, program.role),
            labels={
                LABEL_STACK: self._engine.stack,
                LABEL_RUN: ref.run_id,
                LABEL_ATTEMPT: str(ref.attempt),
                LABEL_ROLE: program.role,
                **grant_labels(program.grant),
            },
            environment={**folder.environment(), **devices, "HOME": TMP},
            working_dir=str(folder.path),
            hostname=_HOST_NAME if self._has_doors else None,
            # The owner of the files is who may delete them: ourselves.
            user=f"{os.getuid()}:{os.getgid()}",
            host_config=host,
            networking_config=networks,
            stop_timeout=program.stop_timeout_s,
        )
        return self._client.containers.get(made["Id"])

    def _networks(self, internet: bool) -> tuple[str, dict[str, Any] | None]:
        """A run without internet has no network, or one that has no way out; with it one more that has."""
        if not internet or self._engine.internet is not Internet.ON_REQUEST:
            return self._engine.network, None
        names = [str(self._engine.outside)]
        if not self._has_doors:
            names.insert(0, self._engine.network)
        ends = {name: self._client.api.create_endpoint_config() for name in names}
        return names[0], {"EndpointsConfig": ends}

    @property
    def _has_doors(self) -> bool:
        return self._engine.network == NO_NETWORK

    def _through_doors(self, launch_spec: LaunchSpec) -> LaunchSpec:
        """The launch spec of a run that reaches the stack through sockets, as if all of it were on its own loopback."""
        if not self._has_doors:
            return launch_spec
        xmpp, doors = None, [Door(port=_BROKER_PORT, socket=f"{_DOORS}/{BROKER_DOOR}")]
        if launch_spec.xmpp is not None:
            xmpp = replace(launch_spec.xmpp, host=_LOOPBACK, port=_XMPP_PORT)
            doors.append(Door(port=_XMPP_PORT, socket=f"{_DOORS}/{XMPP_DOOR}"))
        scheme, _, _ = launch_spec.broker_url.partition("://")
        url = f"{scheme}://{_LOOPBACK}:{_BROKER_PORT}"
        return replace(launch_spec, broker_url=url, xmpp=xmpp, doors=doors)

    def _mounts(self, folder: Path, selected: DashboardSource | None) -> list[Mount]:
        """The run's folder, at the path that it has for us, whatever it is on the engine's host; and the doors.

        A dashboard sees the event files of its runs in addition, and nothing else of them: their folders hold secrets.
        """
        mounts = [self._engine.mount(folder, f"{RUNS_DIR}/{folder.name}", str(folder))]
        if self._has_doors:
            doors = self._runs.parent / DOORS_DIR
            mounts.append(self._engine.mount(doors, DOORS_DIR, _DOORS, read_only=True))
        for run_id, name in mountable(self._runs, selected) if selected is not None else ():
            events = self._runs / run_id / EVENT_FILES_DIR
            subpath = f"{RUNS_DIR}/{run_id}/{EVENT_FILES_DIR}"
            target = str(folder / SELECTED_DIR / name)
            mounts.append(self._engine.mount(events, subpath, target, read_only=True))
        return mounts

    def _status(self, ref: AttemptRef) -> AttemptStatus:
        folder = self._folder(ref)
        container = self._find(ref)
        if container is not None and container.status in _LIVING:
            return AttemptStatus(AttemptPhase.ALIVE, folder.report())
        report = folder.report()
        if report is not None:
            if container is not None:
                self._remove(ref)  # the report has all there is to know
            return folder.ended(report)
        if container is None and folder.has_lock_file():
            return folder.lost("Its container was removed from outside MOSAIC.")
        if container is None or container.status == "created":
            return ABSENT  # to be started by a submit
        return _died(container, folder)

    def _cancel(self, ref: AttemptRef, kill: bool) -> None:
        container = self._find(ref)
        if container is not None and container.status == "created":
            _remove(container)  # its start, if one is on its way, fails over that
        if container is None or container.status not in _LIVING:
            return
        folder = self._folder(ref)
        if kill:
            _signal(container, "SIGKILL")
        elif not _listens(container, folder):
            _signal(container, _SIGTERM)  # it may be lost: not noted, so that it is sent again
        elif folder.mark_stop():
            _signal(container, _SIGTERM)

    def _drain(self, ref: AttemptRef, timeout_s: float) -> bool:
        folder = self._folder(ref)
        launch_spec = folder.read_launch()
        if launch_spec is None and (folder.path / launch.LAUNCH_FILE).exists():
            raise LaunchFailed(f"{folder.path / launch.LAUNCH_FILE} cannot be read")
        if launch_spec is None:
            return True  # never started, or its folder was deleted: there is nothing to ship
        argv = [*launch_spec.shipper_argv, "--drain", "--timeout", f"{timeout_s:g}"]
        try:
            self._remove(ref, "drain")
            with asking_engine():
                return self._shipped(ref, str(launch_spec.image), argv, timeout_s + _DRAIN_MARGIN_S)
        except DockerException as error:
            raise LaunchFailed(f"the shipper cannot be started: {explained(error)}") from error
        finally:
            self._remove(ref, "drain")

    def _shipped(self, ref: AttemptRef, image: str, argv: list[str], timeout_s: float) -> bool:
        """Run a shipper in a container of its own; whether it shipped all there is."""
        container = self._create(ref, _Program("drain", image, argv, {"nano_cpus": 10**9}))
        container.start()
        try:
            return bool(container.wait(timeout=timeout_s)["StatusCode"] == 0)
        except requests.Timeout:
            return False

    def _sweep_orphans(self, may_live: Callable[[str], bool]) -> int:
        ended = 0
        for container in self._containers(None):
            run_id = container.labels.get(LABEL_RUN)  # a probe that a dead scheduler left has none
            if run_id is not None and may_live(run_id):
                continue
            ended += container.status in _LIVING
            _remove(container)
        return ended

    def _find(self, ref: AttemptRef, role: str = "run") -> Container | None:
        """The container of an attempt. One of another stack, which this one is a copy of, is not ours."""
        for name in self._names(ref, role):
            container = self._get(name)
            if container is not None and self._is_own(container):
                return container
        return None

    def _get(self, name: str) -> Container | None:
        with asking_engine():
            try:
                return self._client.containers.get(name)
            except NotFound:
                return None

    def _is_own(self, container: Container) -> bool:
        return bool(container.labels.get(LABEL_STACK) == self._engine.stack)

    def _containers(self, role: str | None) -> list[Container]:
        labels = [f"{LABEL_STACK}={self._engine.stack}"]
        if role is not None:
            labels.append(f"{LABEL_ROLE}={role}")
        with asking_engine():
            found: list[Container] = self._client.containers.list(
                all=True, filters={"label": labels}, ignore_removed=True
            )
        return found

    def _remove(self, ref: AttemptRef, role: str = "run") -> int:
        container = self._find(ref, role)
        if container is None:
            return 0
        alive = container.status in _LIVING
        _remove(container)
        return int(alive)

    def _free_name(self, ref: AttemptRef, role: str) -> str:
        """The usual name, or the second one where another stack's container has it."""
        usual, second = self._names(ref, role)
        container = self._get(usual)
        return usual if container is None or self._is_own(container) else second

    def _names(self, ref: AttemptRef, role: str = "run") -> tuple[str, str]:
        usual = f"mosaic-{role}-{ref.run_id.lower()}-{ref.attempt}"
        return usual, f"{usual}-{hashlib.sha256(self._engine.stack.encode()).hexdigest()[:8]}"


def _limits(spec: RunSpec) -> dict[str, Any]:
    """What the container may take at most."""
    limits: dict[str, Any] = {"nano_cpus": spec.cpus * 10**9, "shm_size": spec.shm_mb * MIB}
    if spec.memory_mb is not None:
        # With swap on top the limit would be a slow-down first, and no end.
        limits["mem_limit"] = limits["memswap_limit"] = spec.memory_mb * MIB
    return limits


def _listens(container: Container, folder: RunFolder) -> bool:
    """Whether its runner takes signals, after a short wait for that: one that comes before is lost on process 1."""
    deadline = time.monotonic() + _LISTENS_S
    while not folder.has_lock_file():
        with asking_engine():
            try:
                container.reload()
            except NotFound:
                return False
        if container.status not in _LIVING or time.monotonic() > deadline:
            return False
        time.sleep(0.05)  # a file of another process
    return True


def _died(container: Container, folder: RunFolder) -> AttemptStatus:
    """State of a run whose container has ended without a report."""
    state = container.attrs["State"]
    if folder.has_lock_file():
        detail = f"Its container ended with exit code {state.get('ExitCode')}."
        oom = bool(state.get("OOMKilled"))
        return folder.lost(detail, oom=oom, trace_at=_finished_at(state))
    with asking_engine():
        said = container.logs(tail=3).decode(errors="replace").strip().splitlines()
    return AttemptStatus(
        AttemptPhase.REFUSED,
        detail=f"its runner ended with {state.get('ExitCode')}: {' / '.join(said) or 'no output'}",
    )


def _finished_at(state: dict[str, Any]) -> float | None:
    """When the engine saw the container end, seconds since the epoch; the year 1 says that it did not."""
    try:
        at = datetime.fromisoformat(str(state.get("FinishedAt")))
    except ValueError:
        return None
    return at.timestamp() if at.year > 1 else None


def _ref_of(container: Container) -> AttemptRef:
    return AttemptRef(str(container.labels[LABEL_RUN]), int(container.labels[LABEL_ATTEMPT]))


def _remove(container: Container) -> None:
    with _nothing_left_to_do(), asking_engine():
        container.remove(force=True)


def _signal(container: Container, signal: str | int) -> None:
    with _nothing_left_to_do(), asking_engine():
        container.kill(signal)


@contextmanager
def _nothing_left_to_do() -> Iterator[None]:
    """Let it pass when the engine says that a container is gone, is going, or does not run."""
    try:
        yield
    except APIError as error:
        if error.status_code not in (404, 409):
            raise EngineUnavailable(f"The container engine said: {explained(error)}") from error
