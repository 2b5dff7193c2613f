"""Asks a worker about itself in a container of its image, without network and without anything of the host."""

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

import requests
from docker.errors import ImageNotFound, NotFound

from mosaic_contracts.stack import IMPORTS_DIR
from mosaic_scheduler.errors import WorkerFailed, WorkerUnready
from mosaic_scheduler.executors.docker import LABEL_ROLE, LABEL_RUN, TMP
from mosaic_scheduler.executors.engine import (
    ENGINE_AWAY,
    LABEL_STACK,
    Engine,
    away,
    explained,
    image_missing,
    is_answer,
)
from mosaic_scheduler.executors.nvidia import NO_DEVICES
from mosaic_scheduler.workers.failure import worker_failure
from mosaic_scheduler.workers.probe import Inspection
from mosaic_scheduler.workers.registry import ImageWorker, RegisteredWorker

_MEMORY_BYTES = 4 * 2**30
_PIDS = 512
_KEPT_LINES = 1000
"""Lines of what it says on stderr."""
_FEED = (
    "import os, subprocess, sys\n"
    "fed = os.environ.pop('MOSAIC_STDIN').encode()\n"
    "sys.exit(subprocess.run(sys.argv[1:], input=fed).returncode)"
)
"""The engine's API for a container's stdin is a hijacked connection, which a proxy need not know; a spec is small."""


class ImageAsker:
    """See `Asker`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._client = engine.connect()

    async def stamp(self, worker: RegisteredWorker) -> str:
        """See `Asker.stamp`: with the image's digest, for a tag may come to mean another one."""
        return f"{worker.stamp()}|{await asyncio.to_thread(self._digest, worker)}"

    async def ask(
        self, worker: RegisteredWorker, verb: str, payload: bytes, timeout_s: float
    ) -> bytes:
        """See `Asker.ask`."""
        return await asyncio.to_thread(self._ask, worker, verb, payload, timeout_s)

    async def inspect(
        self, worker: RegisteredWorker, inspection: Inspection, timeout_s: float
    ) -> bytes:
        """See `Asker.inspect`. The container sees the folder of the import, at the path that it has here."""
        folder = inspection.folder
        target = str(folder)
        mount = self._engine.mount(folder, f"{IMPORTS_DIR}/{inspection.run_id}", target)
        more = {"mounts": [mount], "user": f"{os.getuid()}:{os.getgid()}"}
        labels = {LABEL_RUN: inspection.run_id}
        return await asyncio.to_thread(
            self._ask, worker, "inspect", inspection.payload, timeout_s, labels, more
        )

    def close(self) -> None:
        """Let go of the engine."""
        self._client.close()

    def _digest(self, worker: RegisteredWorker) -> str:
        image = _image_of(worker)
        try:
            return str(self._client.images.get(image).id)
        except ImageNotFound as error:
            raise WorkerUnready(image_missing(image)) from error
        except ENGINE_AWAY as error:
            raise WorkerUnready(away(error)) from error

    def _ask(
        self,
        worker: RegisteredWorker,
        verb: str,
        payload: bytes,
        timeout_s: float,
        labels: Mapping[str, str] = MappingProxyType({}),
        more: Mapping[str, Any] = MappingProxyType({}),
    ) -> bytes:
        """Start a container and return what it prints; `more` are further settings of it."""
        digest = self._digest(worker)
        argv = ["python", "-c", _FEED, *worker.command, verb]
        try:
            container = self._client.containers.create(
                digest,
                argv,
                entrypoint=[],
                labels={LABEL_STACK: self._engine.stack, LABEL_ROLE: "probe", **labels},
                environment={"MOSAIC_STDIN": payload.decode(), "HOME": TMP, **NO_DEVICES},
                network_mode="none",
                init=True,
                read_only=True,
                tmpfs={TMP: "size=256m,mode=1777"},
                cap_drop=["ALL"],
                security_opt=["no-new-privileges"],
                pids_limit=_PIDS,
                mem_limit=_MEMORY_BYTES,
                **more,
            )
        except ENGINE_AWAY as error:
            raise _refused("The engine refused its image", error) from error
        try:
            container.start()
            code = container.wait(timeout=timeout_s)["StatusCode"]
            printed: bytes = container.logs(stdout=True, stderr=False)
            said: bytes = container.logs(stdout=False, stderr=True, tail=_KEPT_LINES)
        except requests.Timeout as error:
            raise WorkerFailed(f"Its `{verb}` did not answer within {timeout_s:g} s.") from error
        except ENGINE_AWAY as error:
            raise _refused(f"Its `{verb}` cannot be run", error) from error
        finally:
            with suppress(NotFound, *ENGINE_AWAY):
                container.remove(force=True)
        if code != 0:
            raise worker_failure(verb, f"exit code {code}", said)
        return printed


def _refused(what: str, error: Exception) -> WorkerUnready:
    return WorkerUnready(f"{what}: {explained(error)}" if is_answer(error) else away(error))


def _image_of(worker: RegisteredWorker) -> str:
    if not isinstance(worker, ImageWorker):
        raise TypeError(f"{worker.manifest.id} is registered for this machine, not for its image")
    return worker.image
