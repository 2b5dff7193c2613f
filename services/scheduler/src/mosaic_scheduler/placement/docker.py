"""Placement `docker`: a run is one container of its worker's image, with the same runner, worker and shipper in it.

The container sees its own run folder, at the path that it has here, and nothing else of the host. The truth is the
runner's exit report in that folder; the engine is asked only whether the container lives and how it died.
"""

import asyncio
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import docker
import requests
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.models.containers import Container
from docker.types import CancellableStream, LogConfig, Mount

from mosaic_contracts import launch
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.stack import RUNS_DIR
from mosaic_scheduler.errors import PlacementFailed
from mosaic_scheduler.placement.protocol import (
    ABSENT,
    Bounds,
    Internet,
    Inventory,
    LaunchOrder,
    Placed,
    PlacedKind,
    PlacedRef,
)
from mosaic_scheduler.placement.run_folder import RUNNER_MODULE, RunFolder
from mosaic_scheduler.runs.log_tail import last_lines
from mosaic_servicekit.logging import get_log

LABEL_STACK = "mosaic.stack"
LABEL_RUN = "mosaic.run"
LABEL_ATTEMPT = "mosaic.attempt"
LABEL_ROLE = "mosaic.role"
"""`run`, or `drain` of one that ships what a dead run left."""

ENGINE_TIMEOUT_S = 20
PIDS = 4096
TMP = "/tmp"  # noqa: S108 - a file system of the container's own
TMP_BYTES = 2**30
MIB = 2**20
HOST_NETWORK = "host"
_DRAIN_MARGIN_S = 10.0
_RETRY_S = 1.0
"""Before the engine's events are followed again."""
_LIVING = ("running", "paused", "restarting")
_TELLS = 15
"""SIGTERM: the engine's init hands it to the runner."""
ENGINE_AWAY = (requests.RequestException, DockerException, OSError)
"""What talking to an engine may raise; of these APIError is an answer, and its handler stands first."""


@dataclass(frozen=True)
class Engine:
    """How runs are placed on an engine."""

    stack: str
    """Names this stack on the engine: containers of others are never touched."""
    network: str
    """Network on which runs reach the broker; `host` only where the broker is on the host's loopback."""
    outside: str | None = None
    """Network with a way out, which a run that may have internet joins as well."""
    volume: str | None = None
    """Named volume that is our MOSAIC_HOME; None: it is a folder of the engine's host."""
    url: str | None = None
    """Address of the engine; None: as the environment says (`DOCKER_HOST`), else the local socket."""

    @property
    def internet(self) -> Internet:
        """Whether runs have a way out."""
        if self.network == HOST_NETWORK:
            return Internet.OPEN
        return Internet.NONE if self.outside is None else Internet.ON_REQUEST

    def connect(self) -> docker.DockerClient:
        """A client, not yet connected."""
        if self.url is None:
            return docker.from_env(timeout=ENGINE_TIMEOUT_S, version="1.45")
        return docker.DockerClient(self.url, timeout=ENGINE_TIMEOUT_S, version="1.45")


class DockerPlacement:
    """See `Placement`."""

    name = "docker"

    def __init__(self, home: Path, cores: int, engine: Engine) -> None:
        self._runs = home / RUNS_DIR
        self._cores = cores
        self._engine = engine
        self.bounds = Bounds(memory=True, internet=engine.internet)
        self._client = engine.connect()
        self._callbacks: list[Callable[[], None]] = []
        self._watcher: _Watcher | None = None

    async def inventory(self) -> Inventory:
        """Cores only; GPUs are leased elsewhere."""
        return Inventory(cpus=self._cores)

    async def submit(self, order: LaunchOrder) -> None:
        """See `Placement.submit`."""
        if (await self.status(order.ref)).kind is not PlacedKind.ABSENT:
            return
        await asyncio.to_thread(self._start, order)

    async def status(self, ref: PlacedRef) -> Placed:
        """See `Placement.status`. Raises OSError when the engine is away: nothing is known then."""
        return await asyncio.to_thread(self._status, ref)

    async def image(self, ref: PlacedRef) -> str | None:
        """See `Placement.image`."""
        order = await asyncio.to_thread(self._folder(ref).read_launch)
        return order.image if order is not None else None

    async def cancel(self, ref: PlacedRef, kill: bool = False) -> None:
        """See `Placement.cancel`."""
        await asyncio.to_thread(self._cancel, ref, kill)

    async def logs(self, ref: PlacedRef, lines: int) -> list[str]:
        """See `Placement.logs`."""
        path = self._folder(ref).path / launch.WORKER_LOG
        return await asyncio.to_thread(last_lines, path, lines)

    async def adopt(self) -> list[PlacedRef]:
        """See `Placement.adopt`."""
        found = await asyncio.to_thread(self._containers, "run")
        return [_ref_of(container) for container in found if container.status in _LIVING]

    async def sweep(self, ref: PlacedRef) -> int:
        """See `Placement.sweep`. With its container all of an attempt is gone."""
        return await asyncio.to_thread(self._remove, ref)

    async def sweep_orphans(self, may_live: Callable[[str], bool]) -> int:
        """Remove containers of runs of this stack that may not live (any more). Return how many lived."""
        return await asyncio.to_thread(self._sweep_orphans, may_live)

    async def drain(self, ref: PlacedRef, timeout_s: float) -> bool:
        """See `Placement.drain`."""
        return await asyncio.to_thread(self._drain, ref, timeout_s)

    def on_change(self, callback: Callable[[], None]) -> None:
        """See `Placement.on_change`."""
        self._callbacks.append(callback)
        if self._watcher is None:
            self._watcher = _Watcher(self._engine, asyncio.get_running_loop(), self._changed)
            self._watcher.start()

    def folder(self, ref: PlacedRef) -> Path:
        """The run's folder."""
        return self._folder(ref).path

    def close(self) -> None:
        """Stop watching; the containers go on."""
        if self._watcher is not None:
            self._watcher.stop()
        self._client.close()

    def _changed(self) -> None:
        for callback in self._callbacks:
            callback()

    def _folder(self, ref: PlacedRef) -> RunFolder:
        return RunFolder(self._runs / ref.run_id, ref)

    def _start(self, order: LaunchOrder) -> None:
        folder = self._folder(order.ref)
        image = order.image
        if image is None:
            raise PlacementFailed(
                f"worker {order.spec.worker} names no image; add `image` to its worker.toml"
            )
        try:
            # Pinned: what a tag means may change while the run waits for its turn.
            pinned = replace(order, image=self._client.images.get(image).id)
            folder.prepare(pinned)
            self._make(pinned, folder).start()
        except ImageNotFound as error:
            raise PlacementFailed(
                f"image {image} is not on this engine; build or pull it, e.g. "
                f"`docker compose --profile build build worker_{order.spec.worker}`"
            ) from error
        except APIError as error:
            self._remove(order.ref)
            raise PlacementFailed(
                f"the engine refused to start {image}: {explained(error)}"
            ) from error
        except ENGINE_AWAY as error:
            raise PlacementFailed(f"the container engine cannot be reached: {error}") from error

    def _make(self, order: LaunchOrder, folder: RunFolder) -> Container:
        runner = [order.python, "-m", RUNNER_MODULE, "--run-dir", str(folder.path)]
        try:
            given = {**_limits(order.spec), **self._networks(order.spec.internet)}
            return self._create(order.ref, "run", str(order.image), runner, given)
        except APIError as error:
            if error.status_code != 409:
                raise
            # Made by a scheduler that died before it could start it.
            return self._client.containers.get(self._name(order.ref))

    def _create(
        self, ref: PlacedRef, role: str, image: str, argv: list[str], given: dict[str, Any]
    ) -> Container:
        folder = self._folder(ref)
        return self._client.containers.create(
            image,
            argv,
            entrypoint=[],
            name=self._name(ref, role),
            labels={
                LABEL_STACK: self._engine.stack,
                LABEL_RUN: ref.run_id,
                LABEL_ATTEMPT: str(ref.attempt),
                LABEL_ROLE: role,
            },
            environment={**folder.environment(), "HOME": TMP},
            working_dir=str(folder.path),
            mounts=[self._mount(folder.path)],
            # The owner of the files is who may delete them: ourselves.
            user=f"{os.getuid()}:{os.getgid()}",
            init=True,
            read_only=True,
            tmpfs={TMP: f"size={TMP_BYTES},mode=1777"},
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            pids_limit=PIDS,
            log_config=LogConfig(type="json-file", config={"max-size": "1m", "max-file": "1"}),
            **given,
        )

    def _networks(self, internet: bool) -> dict[str, Any]:
        """A run without internet is on a network that has no way out; with it on one more that has."""
        if not internet or self._engine.internet is not Internet.ON_REQUEST:
            return {"network_mode": self._engine.network}
        both = (self._engine.network, str(self._engine.outside))
        config = {name: self._client.api.create_endpoint_config() for name in both}
        return {"network": self._engine.network, "networking_config": config}

    def _mount(self, folder: Path) -> Mount:
        """The run's folder, at the path that it has for us, whatever it is on the engine's host."""
        if self._engine.volume is None:
            return Mount(str(folder), str(folder), type="bind")
        mount = Mount(str(folder), self._engine.volume, type="volume")
        mount["VolumeOptions"] = {"Subpath": f"{RUNS_DIR}/{folder.name}", "NoCopy": True}
        return mount

    def _status(self, ref: PlacedRef) -> Placed:
        folder = self._folder(ref)
        container = self._find(ref)
        if container is not None and container.status in _LIVING:
            return Placed(PlacedKind.ALIVE, folder.report())
        report = folder.report()
        if report is not None:
            if container is not None:
                self._remove(ref)  # the report has all there is to know
            return Placed(PlacedKind.ENDED, report)
        if container is None and folder.has_lock_file():
            return Placed(PlacedKind.LOST, detail="Its container was removed by somebody else.")
        if container is None or container.status == "created":
            return ABSENT  # to be started by a submit
        return _died(container, folder)

    def _cancel(self, ref: PlacedRef, kill: bool) -> None:
        container = self._find(ref)
        if container is None or container.status not in _LIVING:
            return
        try:
            if kill:
                container.kill("SIGKILL")
            elif self._folder(ref).mark_stop():
                container.kill(_TELLS)
        except APIError as error:
            if error.status_code not in (404, 409):  # it has ended in between
                raise OSError(explained(error)) from error

    def _drain(self, ref: PlacedRef, timeout_s: float) -> bool:
        folder = self._folder(ref)
        order = folder.read_launch()
        if order is None and (folder.path / launch.LAUNCH_FILE).exists():
            raise PlacementFailed(f"{folder.path / launch.LAUNCH_FILE} cannot be read")
        if order is None:
            return True  # never started, or its folder was deleted: there is nothing to ship
        argv = [*order.shipper_argv, "--drain", "--timeout", f"{timeout_s:g}"]
        try:
            self._remove(ref, "drain")
            given = {"nano_cpus": 10**9, **self._networks(internet=False)}
            container = self._create(ref, "drain", str(order.image), argv, given)
            container.start()
            code = container.wait(timeout=timeout_s + _DRAIN_MARGIN_S)["StatusCode"]
        except requests.Timeout:
            return False
        except ENGINE_AWAY as error:
            raise PlacementFailed(f"the shipper cannot be started: {error}") from error
        finally:
            self._remove(ref, "drain")
        return bool(code == 0)

    def _sweep_orphans(self, may_live: Callable[[str], bool]) -> int:
        ended = 0
        for container in self._containers(None):
            run_id = container.labels.get(LABEL_RUN)  # a probe that a dead scheduler left has none
            if run_id is not None and may_live(run_id):
                continue
            ended += container.status in _LIVING
            _remove(container)
        return ended

    def _find(self, ref: PlacedRef, role: str = "run") -> Container | None:
        try:
            return self._client.containers.get(self._name(ref, role))
        except NotFound:
            return None
        except ENGINE_AWAY as error:
            raise OSError(f"the container engine cannot be reached: {error}") from error

    def _containers(self, role: str | None) -> list[Container]:
        labels = [f"{LABEL_STACK}={self._engine.stack}"]
        if role is not None:
            labels.append(f"{LABEL_ROLE}={role}")
        try:
            found: list[Container] = self._client.containers.list(
                all=True, filters={"label": labels}, ignore_removed=True
            )
        except ENGINE_AWAY as error:
            raise OSError(f"the container engine cannot be reached: {error}") from error
        return found

    def _remove(self, ref: PlacedRef, role: str = "run") -> int:
        container = self._find(ref, role)
        if container is None:
            return 0
        alive = container.status in _LIVING
        _remove(container)
        return int(alive)

    def _name(self, ref: PlacedRef, role: str = "run") -> str:
        return f"mosaic-{role}-{ref.run_id.lower()}-{ref.attempt}"


def _limits(spec: RunSpec) -> dict[str, Any]:
    """What the container may take at most."""
    limits: dict[str, Any] = {"nano_cpus": spec.cpus * 10**9, "shm_size": spec.shm_mb * MIB}
    if spec.memory_mb is not None:
        # With swap on top the limit would be a slow-down first, and no end.
        limits["mem_limit"] = limits["memswap_limit"] = spec.memory_mb * MIB
    return limits


def _died(container: Container, folder: RunFolder) -> Placed:
    """Of a container that has ended without a report."""
    state = container.attrs["State"]
    if folder.has_lock_file():
        detail = f"Its container ended with exit code {state.get('ExitCode')}."
        return Placed(PlacedKind.LOST, detail=detail, oom=bool(state.get("OOMKilled")))
    said = container.logs(tail=3).decode(errors="replace").strip().splitlines()
    return Placed(
        PlacedKind.REFUSED,
        detail=f"its runner ended with {state.get('ExitCode')}: {' / '.join(said) or 'no output'}",
    )


def _ref_of(container: Container) -> PlacedRef:
    return PlacedRef(str(container.labels[LABEL_RUN]), int(container.labels[LABEL_ATTEMPT]))


def _remove(container: Container) -> None:
    try:
        container.remove(force=True)
    except APIError as error:
        if error.status_code not in (404, 409):  # gone, or being removed by somebody else
            raise OSError(explained(error)) from error


def explained(error: APIError) -> str:
    """What the engine said."""
    return str(error.explanation or error)


class _Watcher(threading.Thread):
    """Follows the engine's events, for the SDK blocks; tells the loop that some container ended."""

    def __init__(
        self, engine: Engine, loop: asyncio.AbstractEventLoop, changed: Callable[[], None]
    ) -> None:
        super().__init__(name="engine-events", daemon=True)
        self._engine = engine
        self._loop = loop
        self._tell = changed
        self._stopped = threading.Event()
        self._stream: CancellableStream[dict[str, Any]] | None = None

    def run(self) -> None:
        """Until `stop`. After each (re)connection things may have changed unseen."""
        filters: dict[str, Any] = {
            "type": "container",
            "event": ["die", "destroy"],
            "label": f"{LABEL_STACK}={self._engine.stack}",
        }
        while not self._stopped.is_set():
            client = self._engine.connect()
            try:
                self._stream = client.events(decode=True, filters=filters)
                self._notify()
                for _ in self._stream:
                    self._notify()
            except ENGINE_AWAY as error:
                if not self._stopped.is_set():
                    get_log().warning("engine.away", error=str(error))
            finally:
                client.close()
            self._stopped.wait(_RETRY_S)

    def stop(self) -> None:
        """End it."""
        self._stopped.set()
        if self._stream is not None:
            self._stream.close()

    def _notify(self) -> None:
        if not self._loop.is_closed() and not self._stopped.is_set():
            self._loop.call_soon_threadsafe(self._tell)
