"""Asks a worker about itself, in its own environment, and remembers the answer as long as it holds."""

import asyncio
import json
import os
import resource
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from mosaic_base.atomic import replace_file
from mosaic_contracts.launch import ENV_RUN_DIR, ENV_RUN_ID
from mosaic_contracts.parameter_bounds import parameters_with_faults
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.stack import RUNS_DIR
from mosaic_contracts.worker import CheckReport, InspectReport, InspectRequest, WorkerDescription
from mosaic_scheduler.errors import InspectionFailed, WorkerFailed, WorkerUnready
from mosaic_scheduler.workers.failure import worker_failure
from mosaic_scheduler.workers.registry import RegisteredWorker

DESCRIBE_TIMEOUT_S = 90.0
"""A cold import of a training stack from a slow disk takes tens of seconds."""
CHECK_TIMEOUT_S = 90.0
INSPECT_TIMEOUT_S = 60.0
"""For a look into a file of unknown origin."""
INSPECT_MEMORY_BYTES = 4 * 2**30
"""Memory of the process that looks into a file of unknown origin."""
INSPECT_FILE_BYTES = 2 * 2**30
"""Largest file that it may write."""
_SHOWN_FAULTS = 3
FAILURE_HOLDS_S = 10.0
"""A worker that failed to describe itself is not asked again at once."""

ModelT = TypeVar("ModelT", bound=BaseModel)


class _Remembered(BaseModel):
    model_config = ConfigDict(defer_build=True)

    stamp: str
    description: WorkerDescription
    needed_consent: bool = False


@dataclass(frozen=True)
class Inspection:
    """A look of a worker into a file that a user wants to import."""

    run_id: str
    """Run that the file becomes."""
    folder: Path
    """Folder with the file, and with an empty one for what the worker makes of it. It sees nothing else of the home
    where it runs in a container."""
    request: InspectRequest

    @property
    def payload(self) -> bytes:
        """What the worker reads on stdin."""
        return self.request.model_dump_json().encode()


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

    async def inspect(
        self, worker: RegisteredWorker, inspection: Inspection, timeout_s: float
    ) -> bytes:
        """What it prints for `inspect`, within limits of time and memory.

        Raises:
            WorkerUnready: the worker cannot be started.
            WorkerFailed: it ended without an answer.
        """
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
            message = f"Its environment is still being made, or is incomplete. {worker.hint}"
            raise WorkerUnready(f"{message.strip()} ({error})") from error

    async def inspect(
        self, worker: RegisteredWorker, inspection: Inspection, timeout_s: float
    ) -> bytes:
        """See `Asker.inspect`. The process has the marks of its run, so that the next scheduler ends it."""
        run_dir = inspection.folder.parent.parent / RUNS_DIR / inspection.run_id
        marks = {ENV_RUN_ID: inspection.run_id, ENV_RUN_DIR: str(run_dir)}
        argv = [*worker.command, "inspect"]
        return await _ask(argv, inspection.payload, timeout_s, marks, _limit)


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
                _check_defaults(description)
            except WorkerUnready as error:
                message = self._message(name, error)
                self._failed[name] = (stamp, time.monotonic(), message)
                raise WorkerUnready(message) from error
            self._log(name).unlink(missing_ok=True)
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

    async def inspect(self, worker: RegisteredWorker, inspection: Inspection) -> InspectReport:
        """What a file is, as the worker sees it. Costs its start.

        Raises:
            WorkerUnready: as `describe`.
            InspectionFailed: it came to no answer.
        """
        try:
            answer = await self._asker.inspect(worker, inspection, INSPECT_TIMEOUT_S)
            return _parse(InspectReport, answer, "inspect")
        except WorkerFailed as error:
            raise InspectionFailed(str(error)) from error

    def has_needed_consent(self, worker: RegisteredWorker) -> bool:
        """Whether a check of the worker as it is now ever named something that takes consent."""
        known = self._known.get(worker.manifest.id)
        return known is not None and known.needed_consent

    def _message(self, name: str, error: WorkerUnready) -> str:
        """What to say of a failure. All that the worker printed is kept in a file, which is named."""
        if not isinstance(error, WorkerFailed) or error.output in str(error):
            return str(error)
        self._folder.mkdir(parents=True, exist_ok=True)
        replace_file(self._log(name), f"{error.output}\n")
        return f"{error}\nAll that it printed: {self._log(name)}"

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

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


def _limit(pid: int) -> None:
    """Bound what a process that reads a file of unknown origin can take."""
    for what, most in (
        (resource.RLIMIT_DATA, INSPECT_MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, INSPECT_FILE_BYTES),
        (resource.RLIMIT_CPU, int(INSPECT_TIMEOUT_S) * 2),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ProcessLookupError):  # it has ended already, which is seen next
            resource.prlimit(pid, what, (most, most))


async def _ask(
    argv: list[str],
    payload: bytes,
    timeout_s: float,
    marks: Mapping[str, str] = MappingProxyType({}),
    limit: Callable[[int], None] | None = None,
) -> bytes:
    """Start a worker and return what it prints.

    Args:
        argv: its command line; the last word is the verb.
        payload: what it reads on stdin.
        timeout_s: seconds for its answer.
        marks: further variables of its environment.
        limit: called with its pid, before it is given the payload.

    Raises:
        WorkerUnready: it cannot be started.
        WorkerFailed: it gave no answer.
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MOSAIC_")}
    environment.update(marks)
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
        if limit is not None:
            limit(process.pid)
        async with asyncio.timeout(timeout_s):
            answer, said = await process.communicate(payload)
    except TimeoutError as error:
        raise WorkerFailed(f"Its `{verb}` did not answer within {timeout_s:g} s.") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        raise worker_failure(verb, _end_words(process.returncode), said)
    return answer


def _end_words(code: int | None) -> str:
    """How a process ended."""
    if code is not None and code < 0:
        return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"


def _check_defaults(description: WorkerDescription) -> None:
    """Refuse parameters that no run could have: a default outside of its own bounds."""
    faults = parameters_with_faults((each.id, each.parameters) for each in description.algorithms)
    if faults:
        raise WorkerFailed(
            f"Its `describe` has parameters that cannot be: {'; '.join(faults[:_SHOWN_FAULTS])}. Correct them in the "
            "worker; `./mosaic worker-check FOLDER` finds all."
        )


def _parse(model: type[ModelT], answer: bytes, verb: str) -> ModelT:
    try:
        return model.model_validate(json.loads(answer))
    except ValueError as error:
        raise WorkerFailed(f"Its `{verb}` printed an unexpected answer: {error}") from error
