"""Parent of one run's worker and shipper: starts them, ends the whole tree, and writes the truth of the exit.

Standard library and `mosaic_base` only, and small, for it is started with the worker's interpreter, whatever that has
installed, and outlives everything. `docs/interfaces.md` ("Processes of a run") is its specification.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic_base.procfs import children
from mosaic_workerkit.guard import start_guarded
from mosaic_workerkit.memory_kills import has_grown, oom_kills
from mosaic_workerkit.own_files import DELETED, OwnFiles
from mosaic_workerkit.run_place import (
    clear_after_killed,
    clear_folder,
    ran_before,
    take_lock,
)
from mosaic_workerkit.runner_files import (
    clock_reading,
    last_words,
    open_log,
    read_notes,
    replace_json,
    reserve_blocks,
    say,
)
from mosaic_workerkit.stray import end_strays, own_ancestors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mosaic_workerkit.capture import OutputCapture, SignalFile
    from mosaic_workerkit.masking import SecretMask

EXIT_LOCKED = 75
"""Exit code: another runner holds this run."""
EXIT_ALREADY_RAN = 76
"""Exit code: this attempt was started before, and its outbox may have one writer only."""
EXIT_UNREADABLE = 2
_MAY_PASS = (errno.ENOSPC, errno.ENOENT, errno.ENOTDIR)
"""A full disk, and a run folder that the program deletes: neither is a reason to end the run."""

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_STOP_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT})
_WATCHED = _STOP_SIGNALS | {signal.SIGCHLD}
_FILES_LOOK_S = 2.0
"""How soon it is seen that the program deleted files of the run."""
_NOTES_BYTES = 1200
"""Bytes of the reserved blocks; last words can take 2,000 bytes."""
_BACK_OFF_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_STEADY_S = 10.0
"""A shipper that lived so long restarts the back-off."""
_SHIPPER = "mosaic_workerkit.shipper"
_SHIPPER_ENDS_S = 1.0
"""Beyond its drain time, before it is killed."""
_SHIPPER_GAVE_UP = 3
_REPORT_S = 5.0
"""To end the worker's tree and write the report, before the engine kills this process too."""
_STOP_MARK = "control/stop.sent"
"""As `mosaic_contracts.stack_files` has it."""
_BACKLOG = 128
"""Connections that may wait for the shipper at a door."""
_SECRETS = ("MOSAIC_SECRET_", "MOSAIC_XMPP_FILE")
_ENV_CAPTURE = "MOSAIC_CAPTURE_PIPE"
"""As `capture` has it."""

_libc = ctypes.CDLL(None, use_errno=True)


class Runner:
    """Runs one attempt of one run."""

    def __init__(self, run_dir: Path, launch: dict[str, Any], lock_fd: int) -> None:
        self._run_dir = run_dir
        self._files = OwnFiles(run_dir, lock_fd)
        self._files.add_log("logs/runner.log", os.dup(2))
        self._launch = launch
        self._pid = os.getpid()
        self._started_at = time.time()
        self._started_s = time.monotonic()
        self._worker: int | None = None
        self._guard: int | None = None
        self._shipper: int | None = None
        self._shipper_since = 0.0
        self._shipper_failures = 0
        self._shipper_due: float | None = None
        self._stop_asked = False
        self._kill_due: float | None = None
        self._killed_after_grace = False
        self._oom_kills = oom_kills()
        self._notes: dict[str, str] = {}
        self._mask: SecretMask | None = None
        self._capture: OutputCapture | None = None
        self._signals: SignalFile | None = None
        self._end: dict[str, Any] = {}
        self._doors: dict[int, int] = {}
        """Listening sockets by their ports."""

    def run(self) -> int:
        """Run the attempt to its end and return the exit code."""
        for number in (1, 2):
            reserve_blocks(self._reserve_path(number))
        reserve_blocks(self._run_dir / "control/last_words")
        self._open_doors()
        self._make_mask()
        self._start_shipper([])
        start_error = self._start_worker()
        self._write_info()
        if self._notes:
            self._write_notes()
        if start_error is None:
            self._watch_worker()
        self._take_exit(start_error)
        self._write_exit("worker_ended", reserve=1)
        drained = self._drain()
        self._restore_files(has_ended=True)
        self._write_exit("drained" if drained else "not_drained", reserve=2)
        return 0

    def _make_mask(self) -> None:
        """Learn what must not get into the log: the values that the run was given as secrets."""
        environment = self._environment()
        if not any(name.startswith(_SECRETS) for name in environment):
            return
        # Most runs have none, and each import delays the start of a run.
        from mosaic_workerkit.masking import SecretMask, read_secrets, unmasked_words

        values = read_secrets(environment)
        self._notes |= {f"short {at}": words for at, words in enumerate(unmasked_words(values))}
        mask = SecretMask(values)
        self._mask = mask if mask else None

    def _open_doors(self) -> None:
        """Listen on the ports that lead out of a container without a network, before the worker can ask for one.

        The shipper, this one or its successor, takes the connections that wait here.
        """
        for door in self._launch.get("doors", []):
            listening = socket.create_server(("127.0.0.1", door["port"]), backlog=_BACKLOG)
            self._doors[door["port"]] = listening.detach()

    def _start_worker(self) -> str | None:
        """Start it; returns why it could not be executed."""
        if _STOP_SIGNALS & signal.sigpending():
            self._stop_asked = True
            return "asked to stop before the worker was started"
        try:
            with open_log(self._run_dir / "logs/worker.log") as log:
                self._files.add_log("logs/worker.log", os.dup(log.fileno()))
                output = self._begin_capture(log.fileno())
                self._worker = self._spawn_worker(output)
        except (OSError, ValueError, IndexError, subprocess.SubprocessError) as error:
            say("worker.not_started", error=str(error))
            return f"cannot execute {self._launch['worker_argv'][:1]}: {error}"
        finally:
            if self._capture is not None:
                self._capture.close_write_end()
        say("worker.started", pid=self._worker)
        return None

    def _spawn_worker(self, output_fd: int) -> int:
        start = partial(self._spawn, self._launch["worker_argv"], output_fd, dies=True)
        if self._launch.get("image"):
            return start()  # a container ends with its runner
        self._guard, worker = start_guarded(start)
        return worker

    def _begin_capture(self, log_fd: int) -> int:
        """Returns where the worker is to write: its log, or the mask in front of it."""
        if self._mask is None:
            return log_fd
        from mosaic_workerkit.capture import OutputCapture, SignalFile

        self._signals = SignalFile(_WATCHED)
        self._capture = OutputCapture(self._mask, os.dup(log_fd))
        return self._capture.write_fd

    def _wait(self, timeout_s: float) -> int | None:
        """Until a signal comes; its number, or None after the timeout."""
        if self._capture is not None and self._signals is not None:
            got = self._capture.wait(self._signals, timeout_s)
            self._note_masked()
            return got
        found = signal.sigtimedwait(_WATCHED, timeout_s)
        return None if found is None else int(found.si_signo)

    def _note_masked(self) -> None:
        """Say once of each secret that it was masked."""
        if self._mask is None or all(name in self._notes for name in self._mask.found):
            return
        self._notes |= self._mask.notes()
        self._write_notes()

    def _start_shipper(self, more: list[str]) -> None:
        self._shipper_due = None
        self._shipper_since = time.monotonic()
        argv = self._launch["shipper_argv"] or [
            # as mosaic_contracts.interpreter has it: nothing in the run's folder may take the place of a module
            *(sys.executable, "-I", "-u", "-X", "utf8", "-m", _SHIPPER),
            *("--run-dir", str(self._run_dir)),
        ]
        try:
            with open_log(self._run_dir / "logs/shipper.log") as log:
                self._files.add_log("logs/shipper.log", os.dup(log.fileno()))
                # SIGTERM waits until the shipper has imported what it needs, and makes it ship the rest. Another
                # program is not known to let it in.
                blocked = (signal.SIGTERM,) if _SHIPPER in argv else ()
                self._shipper = self._spawn(
                    [*argv, *more], log.fileno(), dies=False, doors=True, blocked=blocked
                )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            self._shipper = None
            self._put_off_shipper()
            say("shipper.not_started", error=str(error))
        else:
            say("shipper.started", pid=self._shipper)

    def _spawn(
        self,
        argv: list[str],
        log_fd: int,
        dies: bool,
        doors: bool = False,
        blocked: Sequence[signal.Signals] = (),
    ) -> int:
        """Start a child in its own process group.

        Args:
            dies: with this process, even when that is killed.
            doors: it is given the listening sockets.
            blocked: signals that wait until it unblocks them.
        """
        parent = os.getpid()

        def prepare() -> None:
            # Runs between fork and exec of a process with one thread: Python code is safe here.
            os.setpgid(0, 0)
            if dies:
                _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
                if os.getppid() != parent:
                    os._exit(127)  # it died before the line above
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

        child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=log_fd,
            stderr=log_fd,
            cwd=self._run_dir,
            env={**self._environment(), **(self._door_variable() if doors else {})},
            pass_fds=tuple(self._doors.values()) if doors else (),
            preexec_fn=prepare,
        )
        child.returncode = 0  # reaped here with wait4, for its resource use
        return child.pid

    def _door_variable(self) -> dict[str, str]:
        return {"MOSAIC_DOORS": json.dumps(self._doors)} if self._doors else {}

    def _environment(self) -> dict[str, str]:
        capture = {} if self._capture is None else {_ENV_CAPTURE: str(self._capture.inode)}
        return {
            **os.environ,
            **self._launch.get("env", {}),
            "MOSAIC_RUN_ID": self._launch["run_id"],
            "MOSAIC_RUN_DIR": str(self._run_dir),
            "MOSAIC_ATTEMPT": str(self._launch["attempt"]),
            "PYTHONUNBUFFERED": "1",
            # Passed on, for a shipper may look for it only after the runner's death.
            "MOSAIC_RUNNER_PID": str(self._pid),
            **capture,
        }

    def _watch_worker(self) -> None:
        """Until the worker has ended. It stays unreaped, so that its pid and group cannot be reused."""
        while not self._worker_has_ended():
            due = [t for t in (self._kill_due, self._shipper_due) if t is not None]
            timeout = min([_FILES_LOOK_S, *(when - time.monotonic() for when in due)])
            got = self._wait(max(0.0, timeout))
            self._restore_files(has_ended=False)
            if got in _STOP_SIGNALS:
                self._ask_worker_to_stop()
            if self._kill_due is not None and time.monotonic() >= self._kill_due:
                self._kill_tree()
            self._reap_others()
            self._keep_shipper()

    def _restore_files(self, has_ended: bool) -> None:
        """Make again what the program deleted of the run's own files, so that its end and its log can be shown."""
        try:
            if self._files.restore() if has_ended else self._files.look():
                say("files.restored")
                self._notes["files"] = DELETED
                self._write_info()
                self._write_notes()
        except OSError as error:
            say("files.not_restored", error=str(error))

    def _write_notes(self) -> None:
        """For the heartbeat; the exit report has them in any case."""
        notes = self._run_dir / "control/runner_notes.json"
        try:
            replace_json(notes, self._notes, notes.with_name(".runner_notes.json"))
        except OSError as error:
            say("notes.not_written", error=str(error))

    def _worker_has_ended(self) -> bool:
        if self._worker is None:
            return True
        how = os.WEXITED | os.WNOHANG | os.WNOWAIT
        try:
            return os.waitid(os.P_PID, self._worker, how) is not None
        except ChildProcessError:
            return False  # it is the guard's until it has ended

    def _ask_worker_to_stop(self) -> None:
        if self._worker is None:
            return
        if self._stop_asked:
            say("worker.killed", reason="second stop signal")
            self._kill_tree()
            return
        grace_s = self._grace_s()
        say("worker.asked_to_stop", grace_s=grace_s)
        self._stop_asked = True
        self._kill_due = time.monotonic() + grace_s
        # The trainer alone: its helpers must live until it has saved its checkpoint.
        os.kill(self._worker, signal.SIGTERM)
        try:
            self._write_info()  # should it be killed before its report, it is known that it was asked
        except OSError as error:
            say(
                "info.not_written", error=str(error)
            )  # a worker may delete what it likes in its folder

    def _grace_s(self) -> float:
        """Seconds for the worker's own end: fewer where the engine began the stop, and kills us too after its time."""
        grace_s = float(self._launch["grace_s"])
        engine_s = self._launch.get("engine_kill_wait_s")
        if engine_s is None or (self._run_dir / _STOP_MARK).exists():
            return grace_s
        return max(0.0, min(grace_s, float(engine_s) - _REPORT_S))

    def _kill_tree(self) -> None:
        self._kill_due = None
        self._killed_after_grace = True
        if self._worker is not None:
            os.killpg(self._worker, signal.SIGKILL)

    def _reap_others(self) -> None:
        """Reap every dead child but the worker: shipper, and orphans that this subreaper was given."""
        for pid in children(self._pid):
            if pid == self._worker:
                continue
            try:
                got, status = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                continue
            if got and pid == self._shipper:
                code = os.waitstatus_to_exitcode(status)
                say("shipper.ended", code=code)
                self._shipper = None
                self._put_off_shipper()

    def _put_off_shipper(self) -> None:
        if time.monotonic() - self._shipper_since > _STEADY_S:
            self._shipper_failures = 0
        wait = _BACK_OFF_S[min(self._shipper_failures, len(_BACK_OFF_S) - 1)]
        self._shipper_failures += 1
        self._shipper_due = time.monotonic() + wait

    def _keep_shipper(self) -> None:
        if self._shipper_due is not None and time.monotonic() >= self._shipper_due:
            self._start_shipper([])
            self._write_info()

    def _take_exit(self, start_error: str | None) -> None:
        """Learn how the worker ended, end what outlived it, and only then reap it."""
        end: dict[str, Any] = {
            "code": None,
            "signal": None,
            "oom": None,
            "start_error": start_error,
            "last_words": None,
        }
        ended_at, ended_s = time.time(), time.monotonic()
        spared = {self._pid, *own_ancestors()}
        if self._shipper is not None:
            spared.add(self._shipper)
        strays = end_strays(self._launch["run_id"], self._pid, self._worker, spared)
        if self._capture is not None:
            self._capture.finish()
            self._note_masked()
        self._restore_files(has_ended=True)
        if self._worker is not None:
            _, status, used = os.wait4(self._worker, 0)
            code = os.waitstatus_to_exitcode(status)
            end["signal" if code < 0 else "code"] = abs(code)
            # In a container the cgroup is the run's alone: report `oom` also when a helper's death made a worker fail.
            if code == -signal.SIGKILL or (code != 0 and self._launch.get("image")):
                end["oom"] = has_grown(self._oom_kills, oom_kills())
            end["cpu_s"] = used.ru_utime + used.ru_stime
            end["max_rss_bytes"] = used.ru_maxrss * 1024
            self._worker = None
            words = last_words(self._run_dir / "control/last_words")
            end["last_words"] = self._mask.in_text(words) if words and self._mask else words
        self._end = {
            "run_id": self._launch["run_id"],
            "attempt": self._launch["attempt"],
            **end,
            "notes": self._all_notes(),
            "stop_signal_sent": self._stop_asked,
            "killed_after_grace": self._killed_after_grace,
            "strays": strays,
            "started_at": self._started_at,
            "ended_at": ended_at,
            "ended_clock": clock_reading(ended_s),
            "duration_s": ended_s - self._started_s,
        }
        say("worker.ended", **end, strays=strays)

    def _all_notes(self) -> list[str]:
        """The worker's notes that stay with the run, and the runner's own."""
        notes = [*read_notes(self._run_dir / "control/kept_notes.json"), *self._notes.values()]
        fitting: list[str] = []
        for note in dict.fromkeys(notes):
            if len(json.dumps([*fitting, note])) <= _NOTES_BYTES:
                fitting.append(note)
        return fitting

    def _drain(self) -> bool:
        """Have the shipper ship what is left; whether all is committed."""
        drain_s = float(self._launch.get("drain_s", 30.0))
        deadline = time.monotonic() + drain_s
        # Restarted ones get what is left of the time.
        if self._shipper is not None:
            os.kill(self._shipper, signal.SIGTERM)
        while True:
            left = deadline - time.monotonic()
            if self._shipper is None:
                if left <= 0:
                    return False
                self._start_shipper(["--drain", "--timeout", f"{left:.3f}"])
                if self._shipper is None:
                    return False
            code = self._wait_for_shipper(deadline + _SHIPPER_ENDS_S)
            if code in (0, _SHIPPER_GAVE_UP):
                return code == 0
            if code is None:
                return False
            # Killed, or another program that did not expect SIGTERM. Not at once: it may fail at each start.
            if left > 0:
                signal.sigtimedwait({signal.SIGCHLD}, 0.2)

    def _wait_for_shipper(self, deadline: float) -> int | None:
        """Its exit code; None when it had to be killed."""
        pid = self._shipper
        if pid is None:
            return None
        was_killed = False
        while True:
            got, status = os.waitpid(pid, os.WNOHANG)
            if got:
                self._shipper = None
                say("shipper.ended", code=os.waitstatus_to_exitcode(status))
                return None if was_killed else os.waitstatus_to_exitcode(status)
            left = deadline - time.monotonic()
            if left <= 0 and not was_killed:
                was_killed = True
                os.kill(pid, signal.SIGKILL)
                deadline = time.monotonic() + 3600
            # A stop that comes now changes nothing: the worker is gone already.
            signal.sigtimedwait(_WATCHED, max(left, 0.0) if not was_killed else 1.0)

    def _write_info(self) -> None:
        info = {
            "runner_pid": self._pid,
            "worker_pid": self._worker,
            "guard_pid": self._guard,
            "shipper_pid": self._shipper,
            "started_at": self._started_at,
            "attempt": self._launch["attempt"],
            "stop_asked": self._stop_asked,
        }
        control = self._run_dir / "control"
        try:
            replace_json(control / "runner.json", info, control / ".runner.json")
        except OSError as error:
            if error.errno not in _MAY_PASS:
                raise
            # A search for the run's processes finds them by their environment too. A folder that the program deletes
            # at this moment is restored soon, and this file with it.
            say("info.not_written", error=str(error))

    def _write_exit(self, phase: str, reserve: int) -> None:
        report = {"phase": phase, **self._end}
        replace_json(self._run_dir / "control/exit.json", report, self._reserve_path(reserve))

    def _reserve_path(self, number: int) -> Path:
        return self._run_dir / f"control/.exit.{number}.json"


def _begin(run_dir: Path) -> int:
    """Have the scheduler grant the attempt, and fetch what the run begins with; 0, or the exit code of a refusal."""
    argv = [sys.executable, "-I", "-u", "-X", "utf8", "-m", f"{_SHIPPER}.begin"]
    child = subprocess.Popen(
        [*argv, "--run-dir", str(run_dir)],
        stdin=subprocess.DEVNULL,
        # Runs between fork and exec of a process with one thread: Python code is safe here.
        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, ()) and None,
    )
    while (code := child.poll()) is None:
        found = signal.sigtimedwait(_WATCHED, 1.0)
        if found is not None and found.si_signo in _STOP_SIGNALS:
            child.kill()
            child.wait()
            return EXIT_LOCKED
    return code if code >= 0 else EXIT_LOCKED


def main() -> int:
    """Run as a program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run-dir", type=Path, required=True)
    run_dir = parser.parse_args().run_dir.resolve()
    # Blocked before anything else: a stop that comes early waits until it can be obeyed.
    signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        launch = json.loads((run_dir / "control/launch.json").read_text())
    except (OSError, ValueError) as error:
        say("runner.refused", error=f"cannot read control/launch.json: {error}")
        return EXIT_UNREADABLE
    lock_fd = take_lock(run_dir)
    if lock_fd is None:
        say("runner.refused", error="another runner holds control/runner.lock")
        return EXIT_LOCKED
    try:
        if launch.get("clears_folder"):
            clear_after_killed(run_dir)
        return _start(run_dir, launch, lock_fd)
    finally:
        if launch.get("clears_folder"):
            clear_folder(run_dir, launch["attempt"])


def _start(run_dir: Path, launch: dict[str, Any], lock_fd: int) -> int:
    """Run the attempt, if it may begin here; the exit code."""
    if ran_before(run_dir, launch["attempt"]):
        say("runner.refused", error=f"attempt {launch['attempt']} was started before")
        return EXIT_ALREADY_RAN
    (run_dir / "logs").mkdir(mode=0o700, exist_ok=True)
    if not launch.get("shares_folder", True):
        code = _begin(run_dir)
        if code:
            say("runner.refused", error=f"the attempt may not begin here (exit code {code})")
            return code
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    return Runner(run_dir, launch, lock_fd).run()


if __name__ == "__main__":
    sys.exit(main())
