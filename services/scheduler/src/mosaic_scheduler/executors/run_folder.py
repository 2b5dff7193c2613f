"""The files of one run, as the process executor writes and reads them."""

import errno
import json
import os
import secrets
import shutil
from pathlib import Path
from typing import BinaryIO

from pydantic import ValidationError

from mosaic_base.atomic import replace_file, sync_folder
from mosaic_base.locks import is_locked
from mosaic_contracts import launch
from mosaic_contracts.gpus import GpuGrant
from mosaic_contracts.interpreter import python_module
from mosaic_contracts.launch import ExitReport, Launch, RunFile, RunnerInfo, ShipperState
from mosaic_contracts.nodes import BEGUN_FILE, Begun
from mosaic_contracts.stack_files import STOP_MARK
from mosaic_contracts.wire import SOURCE_WORKER
from mosaic_scheduler.errors import LaunchFailed
from mosaic_scheduler.executors import access, event_folders, inputs
from mosaic_scheduler.executors.inputs import given
from mosaic_scheduler.executors.protocol import (
    AttemptPhase,
    AttemptRef,
    AttemptStatus,
    EngineEnd,
    LaunchSpec,
)
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.privacy import private_folder

RUNNER_MODULE = "mosaic_workerkit.runner"
SHIPPER_MODULE = "mosaic_workerkit.shipper"
DRAIN_S = 30.0
"""For the shipper after the worker's end; what is left by then is shipped later."""
NODE_DRAIN_S = 600.0
"""The same where the folder is on another machine: what is not shipped by then may be gone with it."""
ORPHAN_S = 3600.0
"""A run on another machine that has not reached the broker for so long stops itself."""
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_NO_FILE = (FileNotFoundError, NotADirectoryError)
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
_SEGMENT_SUFFIX = ".seg"
_THREADS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


class RunFolder:
    """`MOSAIC_HOME/runs/<run_id>/`."""

    def __init__(self, path: Path, ref: AttemptRef) -> None:
        self.path = path
        self._ref = ref

    def prepare(self, launch_spec: LaunchSpec) -> None:
        """Write what the runner reads. What an earlier attempt left in `control/` goes.

        Raises:
            LaunchFailed: a file or folder cannot be written, or something that the run needs is gone.
        """
        try:
            self._write_all(launch_spec)
        except OSError as error:
            raise LaunchFailed(fault_words(self.path, error)) from error

    def _write_all(self, launch_spec: LaunchSpec) -> None:
        control = self.path / "control"
        begun = self.begun()
        shutil.rmtree(control, ignore_errors=True)
        for folder in (self.path, control, self.path / "logs"):
            private_folder(folder)
        if begun is not None:
            # A grant outlives that the attempt is handed over once more: it is given once.
            _write(self.path / BEGUN_FILE, begun.model_dump_json())
        if launch_spec.write_creds is not None:
            launch_spec.write_creds(self.path / launch.CREDS_FILE)
        access.deliver_secrets(self.path, launch_spec.secrets)
        access.deliver_login(self.path, launch_spec.xmpp)
        inputs.deliver(self.path, [*launch_spec.inputs, *launch_spec.study])
        event_folders.prepare_selected(
            self.path, launch_spec.spec, is_container=launch_spec.image is not None
        )
        given_spec = given(
            launch_spec.spec, {each.parameter: each.place for each in launch_spec.inputs}
        )
        spec = RunFile(
            run_id=self._ref.run_id,
            attempt=self._ref.attempt,
            spec=given_spec.model_dump(mode="json"),
        )
        _write(self.path / launch.SPEC_FILE, spec.model_dump_json(indent=1))
        # Last: with it an attempt can be started.
        _write(
            self.path / launch.LAUNCH_FILE, self.launch_of(launch_spec).model_dump_json(indent=1)
        )

    def launch_of(self, launch_spec: LaunchSpec) -> Launch:
        """What the runner of such an attempt reads; nothing is written."""
        return Launch(
            run_id=self._ref.run_id,
            attempt=self._ref.attempt,
            nonce=launch_spec.nonce,
            worker_argv=[
                *launch_spec.worker_command,
                launch_spec.spec.kind.worker_verb,
                "--run-dir",
                str(self.path),
            ],
            shipper_argv=self._shipper_argv(launch_spec.python),
            env={
                **launch_spec.environment,
                **dict.fromkeys(_THREADS, str(launch_spec.spec.cpus)),
                **self.environment(),
                **access.secret_variables(self.path, list(launch_spec.secrets)),
                **access.login_variables(self.path, launch_spec.xmpp),
                **_visible_devices(launch_spec),
                "PYTHONUNBUFFERED": "1",
            },
            broker_url=launch_spec.broker_url,
            broker_ca=launch_spec.broker_ca,
            grace_s=launch_spec.spec.grace_s,
            engine_kill_wait_s=launch_spec.engine_kill_wait_s,
            drain_s=DRAIN_S if launch_spec.shares_folder else NODE_DRAIN_S,
            shares_folder=launch_spec.shares_folder,
            orphan_s=None if launch_spec.shares_folder else ORPHAN_S,
            clears_folder=not launch_spec.shares_folder,
            outbox_bytes=launch_spec.spec.outbox_bytes,
            when_outbox_full=launch_spec.spec.when_outbox_full,
            image=launch_spec.image,
            job_image=launch_spec.job_image,
            drain_argv=self._shipper_argv(launch_spec.drain_python),
            doors=list(launch_spec.doors),
        )

    def _shipper_argv(self, python: str) -> list[str]:
        if not python:
            return []
        return python_module(python, SHIPPER_MODULE, "--run-dir", str(self.path))

    def open_log(self, name: str) -> BinaryIO:
        """A log of the run, to be appended to. Raises LaunchFailed: it cannot be written."""
        try:
            fd = os.open(self.path / name, _APPEND, 0o600)
        except OSError as error:
            raise LaunchFailed(fault_words(self.path, error)) from error
        return os.fdopen(fd, "ab")

    def withdraw(self) -> None:
        """Delete what an attempt had for its lifetime only.

        Raises:
            OSError: the folder may not be written.
        """
        access.withdraw_all(self.path)

    def environment(self) -> dict[str, str]:
        """What marks a process as belonging to this attempt."""
        return {
            launch.ENV_RUN_ID: self._ref.run_id,
            launch.ENV_RUN_DIR: str(self.path),
            launch.ENV_ATTEMPT: str(self._ref.attempt),
        }

    def report(self) -> ExitReport | None:
        """What the runner wrote of this attempt's end."""
        try:
            report = ExitReport.model_validate_json((self.path / launch.EXIT_FILE).read_bytes())
        except _NO_FILE:
            return None
        except ValidationError as error:
            # The run folder is writable for the worker: what stands there is not trusted blindly.
            get_log().warning("exit_report.unreadable", run_id=self._ref.run_id, error=str(error))
            return None
        return report if report.attempt == self._ref.attempt else None

    def last_trace_at(self) -> float | None:
        """When runner or worker last wrote something, by the times of their files; None without any file.

        A mapped file gets a new time only when the kernel has written it back, so that half a minute may be missing.
        """
        source = self.path / "outbox" / str(self._ref.attempt) / SOURCE_WORKER
        names = (launch.WORKER_LOG, launch.RUNNER_LOG, launch.RUNNER_FILE, launch.PROGRESS_FILE)
        times = [
            _modified_at(path) for path in (*(self.path / n for n in names), *_segments(source))
        ]
        return max((at for at in times if at is not None), default=None)

    def runner_info(self) -> RunnerInfo | None:
        """What the runner wrote once it had started."""
        try:
            return RunnerInfo.model_validate_json((self.path / launch.RUNNER_FILE).read_bytes())
        except (*_NO_FILE, ValidationError):
            return None

    def began_at(self) -> float | None:
        """When a runner of this attempt began, as wall time; None: that is not known."""
        begun = self.begun()
        if begun is not None:
            return begun.begun_at or None
        info = self.runner_info()
        return None if info is None else info.started_at

    def shipper_state(self) -> ShipperState | None:
        """What the shipper cannot say over the broker, when it is this attempt's."""
        try:
            state = ShipperState.model_validate_json(
                (self.path / launch.SHIPPER_STATE_FILE).read_bytes()
            )
        except (OSError, ValidationError):
            return None  # the rule, but also a word that a worker made up
        return state if state.attempt == self._ref.attempt else None

    def read_launch(self) -> Launch | None:
        """The launch file, when it is this attempt's."""
        try:
            launch_spec = Launch.model_validate_json((self.path / launch.LAUNCH_FILE).read_bytes())
        except (*_NO_FILE, ValidationError):
            return None
        return launch_spec if launch_spec.attempt == self._ref.attempt else None

    def has_lock_file(self) -> bool:
        """Whether a runner of this attempt ever began: here, or on a machine whose folder is another one."""
        if self.read_launch() is None:
            return False
        return (self.path / launch.RUNNER_LOCK).exists() or self.begun() is not None

    def begun(self) -> Begun | None:
        """Which runner was granted this attempt, when it works in another folder than this one."""
        try:
            begun = Begun.model_validate_json((self.path / BEGUN_FILE).read_bytes())
        except (*_NO_FILE, ValidationError):
            return None
        return begun if begun.attempt == self._ref.attempt else None

    def grant(self, begun: Begun) -> Begun:
        """Grant the attempt, unless it was granted before; return the grant that holds.

        Raises:
            OSError: it cannot be written.
        """
        draft = self.path / f"{BEGUN_FILE}.{secrets.token_hex(4)}"
        replace_file(draft, begun.model_dump_json(), durable=True)
        try:
            os.link(draft, self.path / BEGUN_FILE)  # fails where the file exists
            sync_folder(draft.parent)
        except FileExistsError:
            get_log().info("attempt.begun_before", run_id=self._ref.run_id)
        finally:
            draft.unlink(missing_ok=True)
        held = self.begun()
        if held is None:
            raise OSError(
                errno.EIO, "the grant of this attempt is damaged", str(self.path / BEGUN_FILE)
            )
        return held

    def take_report(self, report: ExitReport) -> None:
        """Write the report of a runner that works in another folder. Raises OSError: it cannot be written."""
        replace_file(self.path / launch.EXIT_FILE, report.model_dump_json(), durable=True)

    def is_locked(self) -> bool:
        """Whether a runner holds its lock. Never asked while one may be about to take it."""
        return is_locked(self.path / launch.RUNNER_LOCK)

    def ended(
        self, report: ExitReport, *, engine_end: EngineEnd | None = None, node: str = ""
    ) -> AttemptStatus:
        """An attempt whose runner left its report."""
        return AttemptStatus(
            AttemptPhase.ENDED,
            report,
            asked_here=self.was_stop_marked(),
            engine_end=engine_end,
            node=node,
        )

    def lost(
        self,
        detail: str = "",
        *,
        oom: bool = False,
        trace_at: float | None = None,
        engine_end: EngineEnd | None = None,
        node: str = "",
    ) -> AttemptStatus:
        """An attempt whose runner was killed before its report; `trace_at`: when, where the engine knows."""
        info, launched = self.runner_info(), self.read_launch()
        has_begun_elsewhere = launched is not None and not launched.shares_folder
        return AttemptStatus(
            AttemptPhase.LOST,
            detail=detail,
            oom=oom,
            stop_noted=info is not None and info.stop_asked,
            asked_here=self.was_stop_marked(),
            trace_at=trace_at or self.last_trace_at(),
            engine_end=engine_end,
            node=node,
            is_cut_off=has_begun_elsewhere and self.begun() is not None,
        )

    def was_stop_marked(self) -> bool:
        """Whether a stop was sent to this attempt, or its start was called off."""
        return (self.path / STOP_MARK).exists()

    def mark_stop(self) -> bool:
        """Note that the stop signal is sent now. Return False when it was noted before: a second one kills."""
        try:
            os.close(os.open(self.path / STOP_MARK, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return False
        except OSError as error:
            # A full disk, or a worker that deleted its own folder: the stop must come through all the same.
            get_log().warning("stop.not_noted", run_id=self._ref.run_id, error=str(error))
        return True


def _segments(source: Path) -> list[Path]:
    """What the worker alone writes; the other files of its outbox are the shipper's."""
    try:
        return [path for path in source.iterdir() if path.suffix == _SEGMENT_SUFFIX]
    except OSError:
        return []


def _modified_at(path: Path) -> float | None:
    try:
        return path.lstat().st_mtime
    except OSError:
        return None  # never written, or deleted by its worker


def grant_variable(grant: GpuGrant | None) -> dict[str, str]:
    """What marks a runner as holding GPUs."""
    return {} if grant is None else {launch.ENV_GPU_GRANT: grant.model_dump_json()}


def _visible_devices(launch_spec: LaunchSpec) -> dict[str, str]:
    """A run without GPUs sees none. In a container the engine's device request is the wall, and numbers start at 0."""
    if launch_spec.spec.gpus and launch_spec.engine_gives_devices:
        return {}
    if launch_spec.grant is None:
        return {"CUDA_VISIBLE_DEVICES": ""}
    if launch_spec.image is not None:
        return {}
    return {"CUDA_VISIBLE_DEVICES": ",".join(launch_spec.grant.devices)}


def _write(path: Path, text: str) -> None:
    """Atomically, and valid JSON by construction (checked here, for the runner trusts it)."""
    json.loads(text)
    replace_file(path, text)


def fault_words(path: Path, error: OSError) -> str:
    """A refused write below `path`, in words."""
    named = path if error.filename is None or ".probe-" in str(error.filename) else error.filename
    said = f"{named} cannot be written: {error.strerror or error}."
    if error.errno in _NO_SPACE:
        return f"{said} Free some space."
    if error.errno == errno.EROFS:
        return f"{said} Mount its file system for writing."
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"{said} {_owner_words(path)}"
    return said


def _owner_words(path: Path) -> str:
    folder = path
    while not folder.exists():
        folder = folder.parent
    owner, mode = folder.stat().st_uid, folder.stat().st_mode & 0o7777
    return (
        f"{folder} belongs to uid {owner} with mode {mode:o}, and the scheduler has uid {os.geteuid()}: let that uid "
        "write there (`chown`, `chmod u+rwx`)."
    )
