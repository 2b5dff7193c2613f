"""The worker that is checked: its manifest, and calls of it, one at a time."""

import json
import os
import secrets
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError

from mosaic_contracts.fault import fault_place, fault_text
from mosaic_contracts.interpreter import worker_command
from mosaic_contracts.launch import ENV_RUN_ID
from mosaic_contracts.worker import DeviceNeed, WorkerManifest
from mosaic_workerkit.compat import tomllib
from mosaic_workerkit.stray import end_strays

MANIFEST = "worker.toml"
_SHOWN = 600


class ManifestUnusable(ValueError):
    """The path holds no usable worker."""


@dataclass(frozen=True)
class WorkerUnderTest:
    """A worker to check, and how it is started."""

    manifest: WorkerManifest
    command: list[str]
    """Command line before `describe`, `check` and `train`."""

    @property
    def fault(self) -> str | None:
        """Why the worker cannot be started, in words."""
        if shutil.which(self.command[0]) is not None:
            return None
        return f"{self.command[0]} is not there or cannot be executed. {self.manifest.hint}".strip()


@dataclass(frozen=True)
class WorkerAnswer:
    """Result of one call of the worker."""

    argv: list[str]
    code: int | None
    """Exit code, negative for a signal; None if the worker did not end in time."""
    stdout: bytes
    stderr: bytes
    timeout_s: float
    is_left_open: bool
    """Whether a process that the worker left behind kept its output open until the time limit."""

    @property
    def fault(self) -> str | None:
        """Why the answer is not valid, in words."""
        how = f"`{' '.join(self.argv)}`"
        if self.is_left_open:
            return f"{how} left a process behind that holds its stdout open, so the caller waits"
        if self.code is None:
            return f"{how} had not ended after {self.timeout_s:g} s{self._tail()}"
        if self.code:
            by = f"signal {-self.code}" if self.code < 0 else f"exit code {self.code}"
            return f"{how} ended with {by}{self._tail()}"
        return None

    def json(self) -> Any:
        """Parse the single document on stdout.

        Raises:
            ValueError: something else is there.
        """
        try:
            return json.loads(self.stdout, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            shown = self.stdout[:200].decode(errors="replace")
            raise ValueError(f"stdout is not one JSON document ({error}): {shown!r}") from error

    def _tail(self) -> str:
        tail = self.stderr.decode(errors="replace").strip()[-_SHOWN:]
        return f"; it said:\n{tail}" if tail else "; it said nothing"


def read_worker(path: Path, venvs: Path) -> WorkerUnderTest:
    """Return the worker in a folder with `worker.toml`, or of a manifest file.

    Args:
        venvs: environments of the packages and services, by name.

    Raises:
        ManifestUnusable: there is none, or it is not valid.
    """
    file = path / MANIFEST if path.is_dir() else path
    try:
        manifest = WorkerManifest.model_validate(tomllib.loads(file.read_text()))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ManifestUnusable(f"{file} cannot be read: {error}") from error
    except ValidationError as error:
        faults = "; ".join(
            f"{fault_place(fault)}: {fault_text(fault)}"
            for fault in error.errors(include_url=False)
        )
        raise ManifestUnusable(f"{file} is no worker manifest: {faults}") from error
    here = str(file.resolve().parent)
    # Absolute, for a training has another current folder; unresolved, or it would be the bare interpreter.
    python = str((venvs / (manifest.room or "workerkit") / "bin" / "python").absolute())
    hint = manifest.hint.replace("{here}", shlex.quote(here))
    manifest = manifest.model_copy(update={"hint": hint})
    return WorkerUnderTest(manifest, worker_command(manifest.command, python, here))


def ask(worker: WorkerUnderTest, verb: str, given: bytes, timeout_s: float) -> WorkerAnswer:
    """Call the worker as the scheduler does, and end every process that it leaves behind."""
    argv = [*worker.command, verb]
    mark = new_run_id()
    process = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # By the mark its children are found, whatever session they went to.
        env={**clean_environment(DeviceNeed.NONE), ENV_RUN_ID: mark},
        start_new_session=True,
    )
    left_open = False
    code: int | None
    try:
        stdout, stderr = process.communicate(given, timeout_s)
        code = process.returncode
    except subprocess.TimeoutExpired:
        code = process.poll()
        left_open = code is not None
        end_strays(mark, -1, None, {os.getpid()})
        stdout, stderr = process.communicate()
    return WorkerAnswer(argv, code, stdout, stderr, timeout_s, left_open)


def clean_environment(device: DeviceNeed) -> dict[str, str]:
    """Return this environment without the variables of a run or a stack. Devices stay visible only if the worker
    requires one."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MOSAIC_")}
    return kept if device is DeviceNeed.REQUIRED else {**kept, "CUDA_VISIBLE_DEVICES": ""}


def new_run_id() -> str:
    """An id that no run has."""
    return "0" + "".join(secrets.choice("0123456789ABCDEFGHJKMNPQRSTVWXYZ") for _ in range(25))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
