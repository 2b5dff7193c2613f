"""Asks a worker about itself, in its own environment, and remembers the answer as long as it holds."""

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from mosaic_base.atomic import replace_file
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import CheckReport, WorkerDescription
from mosaic_scheduler.errors import WorkerUnready
from mosaic_scheduler.workers.registry import RegisteredWorker

DESCRIBE_TIMEOUT_S = 90.0
"""A cold import of a training stack from a slow disk takes tens of seconds."""
CHECK_TIMEOUT_S = 90.0
FAILURE_HOLDS_S = 10.0
"""A worker that failed to describe itself is not asked again at once."""
_SHOWN_CHARACTERS = 600

ModelT = TypeVar("ModelT", bound=BaseModel)


class _Remembered(BaseModel):
    stamp: str
    description: WorkerDescription
    needed_consent: bool = False


class Asker(Protocol):
    """Where a worker answers: in its environment, or in its image."""

    async def stamp(self, worker: RegisteredWorker) -> str:
        """Changes when the worker does. Raises WorkerUnready."""
        ...

    async def ask(
        self, worker: RegisteredWorker, verb: str, payload: bytes, timeout_s: float
    ) -> bytes:
        """What it prints for `describe` or `check`. Raises WorkerUnready."""
        ...


class ProcessAsker:
    """Starts the worker's command on this machine."""

    async def stamp(self, worker: RegisteredWorker) -> str:
        """See `Asker.stamp`."""
        return worker.stamp()

    async def ask(
        self, worker: RegisteredWorker, verb: str, payload: bytes, timeout_s: float
    ) -> bytes:
        """See `Asker.ask`."""
        try:
            return await _ask([*worker.command, verb], payload, timeout_s)
        except WorkerUnready as error:
            if not worker.is_half_made:
                raise
            message = (
                f"Its environment is still being made, or is incomplete. {worker.manifest.hint}"
            )
            raise WorkerUnready(f"{message.strip()} ({error})") from error


class WorkerProbe:
    """Descriptions by worker, kept in memory and below `MOSAIC_HOME/cache/workers`."""

    def __init__(self, home: Path, asker: Asker | None = None) -> None:
        self._asker = asker or ProcessAsker()
        self._folder = home / "cache" / "workers"
        self._known: dict[str, _Remembered] = {}
        self._failed: dict[str, tuple[str, float, str]] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def describe(self, worker: RegisteredWorker) -> WorkerDescription:
        """What the worker can do. Costs its start only when worker or environment changed.

        Raises:
            WorkerUnready: the environment is missing, or the worker failed to answer.
        """
        name = worker.manifest.id
        async with self._locks.setdefault(name, asyncio.Lock()):
            stamp = await self._asker.stamp(worker)
            known = self._known.get(name) or self._read(name)
            if known is not None and known.stamp == stamp:
                self._known[name] = known
                return known.description
            self._raise_recent_failure(name, stamp)
            try:
                answer = await self._asker.ask(worker, "describe", b"", DESCRIBE_TIMEOUT_S)
                description = _parse(WorkerDescription, answer, "describe")
            except WorkerUnready as error:
                self._failed[name] = (stamp, time.monotonic(), str(error))
                raise
            self._known[name] = _Remembered(stamp=stamp, description=description)
            self._write(name)
            return description

    async def check(self, worker: RegisteredWorker, spec: RunSpec) -> CheckReport:
        """The worker's own dry run. Costs its start.

        Raises:
            WorkerUnready: as `describe`.
        """
        payload = spec.model_dump_json().encode()
        answer = await self._asker.ask(worker, "check", payload, CHECK_TIMEOUT_S)
        report = _parse(CheckReport, answer, "check")
        known = self._known.get(worker.manifest.id)
        if report.needs and known is not None and not known.needed_consent:
            known.needed_consent = True
            self._write(worker.manifest.id)
        return report

    def has_needed_consent(self, worker: RegisteredWorker) -> bool:
        """Whether a check of the worker as it is now ever named something that takes consent."""
        known = self._known.get(worker.manifest.id)
        return known is not None and known.needed_consent

    def _raise_recent_failure(self, name: str, stamp: str) -> None:
        failed = self._failed.get(name)
        if failed and failed[0] == stamp and time.monotonic() - failed[1] < FAILURE_HOLDS_S:
            raise WorkerUnready(failed[2])

    def _read(self, name: str) -> _Remembered | None:
        try:
            return _Remembered.model_validate_json((self._folder / f"{name}.json").read_bytes())
        except (OSError, ValidationError):
            return None  # a cache: made anew

    def _write(self, name: str) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        replace_file(self._folder / f"{name}.json", self._known[name].model_dump_json())


async def _ask(argv: list[str], payload: bytes, timeout_s: float) -> bytes:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MOSAIC_")}
    environment["CUDA_VISIBLE_DEVICES"] = (
        ""  # a description needs no device, and must not claim one
    )
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
        )
    except OSError as error:
        raise WorkerUnready(f"{argv[0]} cannot be executed: {error}") from error
    verb = argv[-1]
    try:
        async with asyncio.timeout(timeout_s):
            answer, said = await process.communicate(payload)
    except TimeoutError as error:
        raise WorkerUnready(f"Its `{verb}` did not answer within {timeout_s:g} s.") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        tail = said.decode(errors="replace").strip()[-_SHOWN_CHARACTERS:]
        raise WorkerUnready(f"Its `{verb}` ended with exit code {process.returncode}: {tail}")
    return answer


def _parse(model: type[ModelT], answer: bytes, verb: str) -> ModelT:
    try:
        return model.model_validate(json.loads(answer))
    except ValueError as error:
        raise WorkerUnready(f"Its `{verb}` printed an unexpected answer: {error}") from error
