"""The runner: real processes, real signals, the true exit in `exit.json`."""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.run_folder import make_run_folder

from mosaic_base import procfs
from mosaic_contracts.launch import ExitReport, Launch, RunnerInfo
from mosaic_workerkit import runner as runner_module

QUIET_SHIPPER = [
    sys.executable,
    "-c",
    "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0));"
    "'--drain' in sys.argv or signal.pause()",
]


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def start(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "mosaic_workerkit.runner", "--run-dir", str(folder)],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def report(folder: Path) -> ExitReport:
    return ExitReport.model_validate_json((folder / "control/exit.json").read_text())


def run(folder: Path, **launch: Any) -> ExitReport:
    make_run_folder(folder, shipper_argv=QUIET_SHIPPER, **launch)
    process = start(folder)
    assert process.wait(60) == 0
    return report(folder)


def until(claim: Callable[[], Any], timeout_s: float = 60.0) -> Any:
    """Wait for a file or a process to be as claimed; there is no event that crosses to this process."""
    deadline = time.monotonic() + timeout_s
    while not (result := claim()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
    return result


def is_alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # it went while it was read
        return False


@pytest.mark.parametrize(
    ("code", "exit_code", "signal_number"),
    [
        ("pass", 0, None),
        ("raise SystemExit(7)", 7, None),
        ("import os; os.kill(os.getpid(), 11)", None, 11),
        ("import os; os.kill(os.getpid(), 9)", None, 9),
    ],
)
def test_true_exit(
    tmp_path: Path, code: str, exit_code: int | None, signal_number: int | None
) -> None:
    """Exit code and signal are the worker's own, kept distinct."""
    got = run(tmp_path / "run", worker_argv=python(code))
    assert (got.code, got.signal) == (exit_code, signal_number)
    assert got.phase == "drained"
    assert not got.stop_signal_sent
    assert got.oom in ((None,) if signal_number != 9 else (None, False))
    assert got.max_rss_bytes is not None
    assert got.max_rss_bytes > 2**20


def test_worker_that_cannot_be_executed(tmp_path: Path) -> None:
    """A missing interpreter is an end with a reason that names it, not a silence."""
    got = run(tmp_path / "run", worker_argv=["/nowhere/python"])
    assert (got.code, got.signal) == (None, None)
    assert got.start_error is not None
    assert "/nowhere/python" in got.start_error


def test_output_environment_and_folder(tmp_path: Path) -> None:
    """The worker's output is in its log; it runs in the run folder and knows its run."""
    code = (
        "import os, sys; print(os.environ['MOSAIC_RUN_ID'], os.environ['MOSAIC_ATTEMPT'], os.getcwd());"
        "print('oops', file=sys.stderr); print(sys.stdin.read() == '')"
    )
    folder = tmp_path / "run"
    got = run(folder, worker_argv=python(code))
    log = (folder / "logs/worker.log").read_text()
    assert f"{got.run_id} 1 {folder}\n" in log
    assert "oops\n" in log
    assert "True\n" in log


def test_polite_stop(tmp_path: Path) -> None:
    """SIGTERM reaches the trainer alone, which ends in its own way; its helper lives until then."""
    code = (
        "import signal, subprocess, sys\n"
        "helper = subprocess.Popen(['sleep', '60'])\n"
        "def stop(*_):\n    print('helper', helper.poll(), flush=True)\n    sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, stop)\nprint('ready', flush=True)\nsignal.pause()"
    )
    folder = make_run_folder(tmp_path / "run", worker_argv=python(code), shipper_argv=QUIET_SHIPPER)
    process = start(folder)
    log = folder / "logs/worker.log"
    until(lambda: log.exists() and "ready" in log.read_text())
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    got = report(folder)
    assert (got.code, got.stop_signal_sent, got.killed_after_grace) == (0, True, False)
    assert "helper None" in log.read_text()
    assert got.strays == 1


@pytest.mark.parametrize("second", [False, True])
def test_stop_of_a_deaf_worker(tmp_path: Path, second: bool) -> None:
    """A worker that ignores the stop is killed after the grace, or at once by a second stop."""
    code = "import signal; signal.signal(15, signal.SIG_IGN); print('ready', flush=True)\nwhile 1: signal.pause()"
    folder = make_run_folder(
        tmp_path / "run",
        worker_argv=python(code),
        shipper_argv=QUIET_SHIPPER,
        grace_s=60 if second else 0.3,
    )
    process = start(folder)
    log = folder / "logs/worker.log"
    until(lambda: log.exists() and "ready" in log.read_text())
    process.send_signal(signal.SIGTERM)
    if second:
        runner_log_seen = time.monotonic() + 0.2
        until(lambda: time.monotonic() > runner_log_seen)
        process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    got = report(folder)
    assert (got.signal, got.stop_signal_sent, got.killed_after_grace) == (9, True, True)


@pytest.mark.parametrize("is_ours", [False, True])
def test_a_stop_of_the_engine_has_less_time(tmp_path: Path, is_ours: bool) -> None:
    """Only a stop that MOSAIC did not announce ends before the engine would kill the runner too."""
    code = (
        "import signal, sys, time; signal.signal(15, lambda *_: (time.sleep(1), sys.exit(0)));"
        "print('ready', flush=True)\nwhile 1: signal.pause()"
    )
    folder = make_run_folder(
        tmp_path / "run",
        worker_argv=python(code),
        shipper_argv=QUIET_SHIPPER,
        grace_s=60,
        engine_kill_wait_s=5.2,
    )
    if is_ours:
        (folder / "control/stop.sent").touch()
    process = start(folder)
    log = folder / "logs/worker.log"
    until(lambda: log.exists() and "ready" in log.read_text())
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    assert report(folder).killed_after_grace is not is_ours


def test_stop_during_start(tmp_path: Path) -> None:
    """A SIGTERM at any time of the start is obeyed, and there is a report."""
    for delay_ms in (30, 60, 90, 140):
        folder = make_run_folder(
            tmp_path / f"run{delay_ms}",
            worker_argv=["sleep", "60"],
            shipper_argv=QUIET_SHIPPER,
        )
        process = start(folder)
        until((folder / "control/runner.lock").exists)
        time.sleep(delay_ms / 1000)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        got = report(folder)
        assert got.stop_signal_sent
        assert got.signal == 15 or got.start_error


def test_strays_are_ended(tmp_path: Path) -> None:
    """Whatever a worker leaves dies with it: its group, a double-forked child, a session of its own."""
    code = (
        "import os, subprocess\n"
        "pids = [subprocess.Popen(['sleep', '600']).pid]\n"
        "pids.append(subprocess.Popen(['sleep', '600'], start_new_session=True).pid)\n"
        "r, w = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        os.write(w, str(os.getpid()).encode()); os.execve('/bin/sleep', ['sleep', '600'], {})\n"
        "    os._exit(0)\n"
        "os.wait(); pids.append(int(os.read(r, 20)))\n"
        "print(*pids, flush=True)\n"
    )
    folder = tmp_path / "run"
    got = run(folder, worker_argv=python(code))
    pids = [int(part) for part in (folder / "logs/worker.log").read_text().split()]
    assert len(pids) == 3
    assert got.strays == 3
    assert not [pid for pid in pids if is_alive(pid)]
    assert got.code == 0


def test_worker_dies_with_its_runner(tmp_path: Path) -> None:
    """SIGKILL of the runner takes the worker; the lock is free and there is no exit report."""
    folder = make_run_folder(
        tmp_path / "run", worker_argv=["sleep", "600"], shipper_argv=QUIET_SHIPPER
    )
    process = start(folder)
    path = folder / "control/runner.json"
    until(path.exists)
    info = RunnerInfo.model_validate_json(path.read_text())
    assert info.runner_pid == process.pid
    assert info.worker_pid is not None
    assert info.shipper_pid is not None
    process.kill()
    process.wait()
    until(lambda: not is_alive(info.worker_pid or 0))
    os.kill(info.shipper_pid, signal.SIGKILL)
    assert not (folder / "control/exit.json").exists()
    again = start(folder)
    assert again.wait(60) == runner_module.EXIT_ALREADY_RAN


_LEAVES = """
import os, subprocess, sys
def leave(*argv):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for fd in range(64):
                try: os.close(fd)
                except OSError: pass
            os.chdir('/')
            os.execve(argv[0], argv, {{}})
        os._exit(0)
    os.wait()
{leaves}
print('ready', flush=True)
import signal; signal.pause()
"""
_DEAF = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep({mark})"
_RESPAWNING = """
import os, sys, time
stop = time.monotonic() + 30
while time.monotonic() < stop:
    if os.fork(): os._exit(0)
    os.setsid(); open(sys.argv[1], 'w').close(); time.sleep(0.002)
"""


@pytest.mark.parametrize(
    "leaves",
    [
        "leave('/bin/sleep', '{mark}')",
        "for _ in range(20): leave('/bin/sleep', '{mark}')",
        "leave('/bin/sh', '-c', 'setsid sleep {mark} & setsid sleep {mark}; true')",
        f"leave(sys.executable, '-S', '-c', {_DEAF!r})",
    ],
    ids=["one", "many", "a tree", "deaf"],
)
def test_nothing_outlives_a_killed_runner(tmp_path: Path, leaves: str) -> None:
    """After SIGKILL of the runner every process that the worker left is ended, detached and unmarked ones too."""
    mark = str(600_000 + int.from_bytes(os.urandom(3), "little"))
    folder = make_run_folder(
        tmp_path / "run",
        worker_argv=python(_LEAVES.format(leaves=leaves.format(mark=mark))),
        shipper_argv=QUIET_SHIPPER,
    )
    process = start(folder)
    log = folder / "logs/worker.log"
    until(lambda: log.exists() and "ready" in log.read_text())
    until((folder / "control/runner.json").exists)
    info = RunnerInfo.model_validate_json((folder / "control/runner.json").read_text())
    assert until(lambda: _with_argument(mark))
    process.kill()
    process.wait()
    until(lambda: not _with_argument(mark))
    until(lambda: not is_alive(info.guard_pid or 0))
    assert not is_alive(info.worker_pid or 0)
    os.kill(info.shipper_pid or 0, signal.SIGKILL)  # it lives on, to ship what is left


def test_a_chain_of_processes_does_not_outlive_a_killed_runner(tmp_path: Path) -> None:
    """A process that forks and exits all the time, in a new session each, is caught too."""
    sign = tmp_path / "sign of life"
    leaves = f"leave(sys.executable, '-S', '-c', {_RESPAWNING!r}, {str(sign)!r})"
    folder = make_run_folder(
        tmp_path / "run",
        worker_argv=python(_LEAVES.format(leaves=leaves)),
        shipper_argv=QUIET_SHIPPER,
    )
    process = start(folder)
    until(sign.exists)
    until((folder / "control/runner.json").exists)
    info = RunnerInfo.model_validate_json((folder / "control/runner.json").read_text())
    process.kill()
    process.wait()
    until(lambda: not is_alive(info.guard_pid or 0), 60.0)
    written_at = sign.stat().st_mtime_ns
    time.sleep(0.5)  # that nothing happens has no event
    assert sign.stat().st_mtime_ns == written_at
    os.kill(info.shipper_pid or 0, signal.SIGKILL)


def _with_argument(mark: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and mark.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    worker = [pid for pid in found if b"ready" in _command(pid)]
    return [pid for pid in found if pid not in worker and is_alive(pid)]


def _children(pid: int | None) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def _command(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def test_a_killed_guard_costs_the_worker_and_not_the_report(tmp_path: Path) -> None:
    """Where the guard itself is killed the worker dies by SIGKILL, as reported, and nothing is left of it."""
    mark = str(600_000 + int.from_bytes(os.urandom(3), "little"))
    leaves = f"leave('/bin/sleep', '{mark}')"
    folder = make_run_folder(
        tmp_path / "run",
        worker_argv=python(_LEAVES.format(leaves=leaves)),
        shipper_argv=QUIET_SHIPPER,
    )
    process = start(folder)
    log = folder / "logs/worker.log"
    until(lambda: log.exists() and "ready" in log.read_text())
    until((folder / "control/runner.json").exists)
    info = RunnerInfo.model_validate_json((folder / "control/runner.json").read_text())
    assert info.guard_pid is not None
    until(lambda: _with_argument(mark) and not _children(info.worker_pid))
    os.kill(info.guard_pid, signal.SIGKILL)
    assert process.wait(60) == 0
    got = report(folder)
    assert (got.code, got.signal) == (None, signal.SIGKILL)
    assert got.strays >= 1
    assert not _with_argument(mark)


def test_the_guard_is_not_taken_for_the_runner(tmp_path: Path) -> None:
    """Neither its command line nor its environment names the run, so that no sweep of the run ends it too early."""
    folder = make_run_folder(
        tmp_path / "run", worker_argv=["sleep", "600"], shipper_argv=QUIET_SHIPPER
    )
    process = start(folder)
    until((folder / "control/runner.json").exists)
    info = RunnerInfo.model_validate_json((folder / "control/runner.json").read_text())
    guard = Path(f"/proc/{info.guard_pid}")
    assert (guard / "cmdline").read_bytes().rstrip(b"\0") == b"mosaic-run-guard"
    assert (guard / "environ").read_bytes().strip(b"\0") == b""
    assert sorted(link.name for link in (guard / "fd").iterdir()) == ["0", "1", "2"]
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    assert not is_alive(info.guard_pid or 0)


def test_one_runner(tmp_path: Path) -> None:
    """A second runner of a living run leaves with 75 and changes nothing."""
    folder = make_run_folder(
        tmp_path / "run", worker_argv=["sleep", "600"], shipper_argv=QUIET_SHIPPER
    )
    process = start(folder)
    until((folder / "control/runner.json").exists)
    assert start(folder).wait(60) == 75
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


@pytest.mark.parametrize("has_begun", [False, True], ids=["unanswered", "begun before"])
def test_a_refused_start_leaves_no_secret(tmp_path: Path, has_begun: bool) -> None:
    """Secrets that were fetched before the start was refused go, and the log that says why stays."""
    folder = make_run_folder(tmp_path / "run", shares_folder=False, clears_folder=True, begin_s=0.1)
    if has_begun:
        (folder / "control/runner.json").write_text('{"attempt": 1}')
    _give_secrets(folder)
    assert start(folder).wait(60) == (76 if has_begun else 75)
    assert _secrets(folder) == []
    assert (folder / "control/launch.json").exists()


@pytest.mark.parametrize("report", ["drained", "damaged"])
def test_secrets_go_whatever_the_report_says(tmp_path: Path, report: str) -> None:
    """A folder of which the stack has all goes; one whose report cannot be written keeps all but its secrets."""
    code = "import os; os.mkdir('control/exit.json')" if report == "damaged" else ""
    folder = make_run_folder(
        tmp_path / "run",
        worker_argv=python(code),
        shipper_argv=QUIET_SHIPPER,
        clears_folder=True,
    )
    _give_secrets(folder)
    assert start(folder).wait(60) == (1 if report == "damaged" else 0)
    assert _secrets(folder) == []
    assert folder.exists() == (report == "damaged")


def test_secrets_of_a_killed_runner_go_with_the_next_run(tmp_path: Path) -> None:
    """A runner that was killed could not remove them; those of a run that lives stay."""
    folders = [
        make_run_folder(
            tmp_path / name,
            worker_argv=python(""),
            shipper_argv=QUIET_SHIPPER,
            clears_folder=True,
        )
        for name in ("killed", "living", "next")
    ]
    for folder in folders:
        _give_secrets(folder)
    killed, living, following = folders
    (killed / "control/runner.lock").touch()
    with (living / "control/runner.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert start(following).wait(60) == 0
    assert _secrets(killed) == []
    assert _secrets(living) != []


def _give_secrets(folder: Path) -> None:
    """The one folder that most runs have of the two."""
    (folder / "control/secrets").mkdir()
    (folder / "control/secrets/key").write_text("secret-value")


def _secrets(folder: Path) -> list[Path]:
    return list((folder / "control/secrets").glob("*"))


def test_a_look_at_the_lock_stops_nobody(tmp_path: Path) -> None:
    """A scheduler that holds the lock shared for an instant, to look, does not make the runner give up."""
    folder = make_run_folder(
        tmp_path / "run", worker_argv=python("pass"), shipper_argv=QUIET_SHIPPER
    )
    with (folder / "control/runner.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        process = start(folder)
        until(lambda: _has_open(process.pid, "runner.lock"))
    assert process.wait(60) == 0


def _has_open(pid: int, name: str) -> bool:
    try:
        return name in [link.readlink().name for link in Path(f"/proc/{pid}/fd").iterdir()]
    except FileNotFoundError:
        return False  # one was closed while we looked


def test_shipper_is_restarted_and_can_fail(tmp_path: Path) -> None:
    """A shipper that dies is started again while the worker lives; one that never drains is reported as such."""
    shipper = python("import sys; print('started', sys.argv[1:], flush=True); sys.exit(9)")
    folder = make_run_folder(
        tmp_path / "run",
        worker_argv=python("import time; time.sleep(0.8)"),
        shipper_argv=shipper,
        drain_s=0.5,
    )
    assert start(folder).wait(60) == 0
    log = (folder / "logs/shipper.log").read_text()
    assert log.count("started []") >= 3
    assert "'--drain', '--timeout'" in log
    assert report(folder).phase == "not_drained"


@pytest.mark.parametrize("is_named", [True, False])
def test_one_shipper_is_enough_for_a_run_that_ends_at_once(tmp_path: Path, is_named: bool) -> None:
    """A worker that ends before its shipper has started does not end the shipper: it ships, and the run is drained."""
    shipper = [sys.executable, "-m", "mosaic_workerkit.shipper", "--run-dir", str(tmp_path / "run")]
    folder = make_run_folder(
        tmp_path / "run", worker_argv=python("pass"), shipper_argv=shipper if is_named else None
    )
    with subprocess.Popen(
        [sys.executable, "-m", "mosaic_workerkit.runner", "--run-dir", str(folder)],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as runner:
        _, said = runner.communicate(timeout=60)
    assert said.count("shipper.started") == 1
    assert (folder / "logs/shipper.log").read_text().count("shipper.draining") == 1
    assert report(folder).phase == "drained"


def test_report_fits_on_a_full_disk(small_disk: Path) -> None:
    """A worker that filled the disk still gets its true exit written."""
    code = (
        "f = open('fill', 'wb', buffering=0)\n"
        "try:\n    while True: f.write(bytes(65536))\n"
        "except OSError: pass\n"
        "while True:\n"
        "    try: open('more', 'ab', buffering=0).write(b'x' * 512)\n"
        "    except OSError: raise SystemExit(5)\n"
    )
    got = run(small_disk / "run", worker_argv=python(code))
    assert got.code == 5
    assert got.phase == "drained"


def test_a_worker_that_a_full_disk_ends_says_so(small_disk: Path) -> None:
    """Without a byte left for its log, the reason comes with the report: it was written into blocks taken before."""
    folder = small_disk / "run"
    argv = [sys.executable, "-m", "mosaic_workerkit.testing.synthetic", "train", "--run-dir"]
    parameters = {"events": 10**8, "rate": 0, "pad": 4096}
    got = run(folder, worker_argv=[*argv, str(folder)], parameters=parameters, outbox_bytes=2**30)
    assert got.code == 1
    assert got.last_words is not None
    assert got.last_words.startswith("OutboxWriteFailed: the disk has no room")
    assert "free space" in got.last_words


def test_kept_notes_are_in_the_report(tmp_path: Path) -> None:
    """The report carries the worker's kept notes, each once; what does not fit its reserved blocks is left out."""
    notes = {"a": "first", "b": "first", "c": 7, "d": "x" * 4000, "e": "last"}
    code = f"import json; json.dump({notes!r}, open('control/kept_notes.json', 'w'))"
    assert run(tmp_path / "run", worker_argv=python(code)).notes == ["first", "last"]
    code = "open('control/kept_notes.json', 'w').write('[')"
    assert run(tmp_path / "broken", worker_argv=python(code)).notes == []


def test_keys_are_the_contracts(tmp_path: Path) -> None:
    """The runner reads and writes exactly the fields that the contract names."""
    folder = tmp_path / "run"
    run(folder, worker_argv=python("pass"))
    written = json.loads((folder / "control/exit.json").read_text())
    assert set(written) == set(ExitReport.model_fields)
    info = json.loads((folder / "control/runner.json").read_text())
    assert set(info) == set(RunnerInfo.model_fields) | {"attempt"}
    given = json.loads((folder / "control/launch.json").read_text())
    assert set(given) == set(Launch.model_fields)


@pytest.mark.parametrize("step_s", [-2400.0, 3600.0])
def test_a_step_of_the_wall_clock_changes_no_duration(tmp_path: Path, step_s: float) -> None:
    """The wall clock is set while the worker runs: the report's duration is what really passed."""
    folder = tmp_path / "run"
    make_run_folder(
        folder, shipper_argv=QUIET_SHIPPER, worker_argv=python("import time; time.sleep(1)")
    )
    code = (
        "import os, runpy, sys, time; real, written = time.time, sys.argv.pop();"
        f"time.time = lambda: real() + ({step_s} if os.path.exists(written) else 0.0);"
        "runpy.run_module('mosaic_workerkit.runner', run_name='__main__')"
    )
    written = folder / "control/runner.json"  # the runner writes it when it has started
    argv = [sys.executable, "-c", code, "--run-dir", str(folder), str(written)]
    began = time.monotonic()
    assert subprocess.run(argv, stderr=subprocess.DEVNULL, check=False, timeout=60).returncode == 0
    passed = time.monotonic() - began
    found = report(folder)
    assert found.ended_at - found.started_at == pytest.approx(step_s, abs=passed)
    assert found.duration_s is not None
    assert 1.0 <= found.duration_s < passed
    assert found.ended_clock is not None
    assert began < found.ended_clock.monotonic_s < began + passed


def test_imports_only_the_standard_library() -> None:
    """The runner starts where nothing but its own package and `mosaic_base` is installed."""
    code = (
        "import sys; sys.path[:0] = sys.argv[1:]; import mosaic_workerkit.runner;"
        "print([m for m in sys.modules if m.split('.')[0] in ('pydantic', 'msgspec', 'numpy', 'mosaic_contracts')])"
    )
    own = [Path(str(module.__file__)).parent.parent for module in (runner_module, procfs)]
    made = subprocess.run(
        [sys.executable, "-S", "-I", "-c", code, *map(str, own)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout.strip() == "[]"


def test_a_shipper_that_ends_in_a_deleted_folder_does_not_end_the_run(tmp_path: Path) -> None:
    """The runner starts it again before the folder is restored; the report is the program's own end."""
    folder = tmp_path / "run"
    program = (
        "import os, shutil, time\n"
        "time.sleep(0.5)  # the runner has begun\n"
        "shutil.rmtree(os.environ['MOSAIC_RUN_DIR'] + '/control')\n"
        "time.sleep(1.5)\n"
    )
    shipper = (
        "import os, sys, time\n"
        "'--drain' in sys.argv and sys.exit(0)\n"
        "while os.path.exists(os.environ['MOSAIC_RUN_DIR'] + '/control'): time.sleep(0.02)\n"
        "sys.exit(1)\n"
    )
    make_run_folder(folder, worker_argv=python(program), shipper_argv=python(shipper))
    process = start(folder)
    assert process.wait(60) == 0
    ended = report(folder)
    assert (ended.code, ended.signal) == (0, None)
    assert any("deleted files" in note for note in ended.notes)


def test_the_shipper_imports_only_what_it_says_and_hears() -> None:
    """Each run starts one: models of specs, workers and stores would take a seventh of its start, and JetStream too."""
    seen = subprocess.run(
        [
            sys.executable,
            "-I",
            "-c",
            "import mosaic_workerkit.shipper.__main__, sys\n"
            "names = [f'mosaic_contracts.{name}' for name in ('run_search', 'runs', 'services', 'spec', 'worker')]\n"
            "print([name for name in (*names, 'nats.js.api') if name in sys.modules])",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert seen.stdout.strip() == "[]"
