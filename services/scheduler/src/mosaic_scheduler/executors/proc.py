"""Processes by what /proc says of them. A pid alone is never trusted: it may be another process by now."""

import os
import signal
from pathlib import Path

from mosaic_contracts.launch import ENV_ATTEMPT, ENV_GPU_GRANT, ENV_RUN_DIR, ENV_RUN_ID
from mosaic_scheduler.executors.protocol import RunProcess

_START_FIELD = 19
"""Index of starttime in /proc/<pid>/stat, counted after the closing parenthesis of the name."""


def start_ticks(pid: int) -> int | None:
    """When a process began, in clock ticks since boot; None when it is gone or a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[_START_FIELD])


def run_process(pid: int) -> RunProcess | None:
    """The process, when it belongs to a run."""
    ticks = start_ticks(pid)
    try:
        raw = Path(f"/proc/{pid}/environ").read_bytes()
        argv = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return None  # gone, or another user's
    if ticks is None or ENV_RUN_ID.encode() not in raw:
        return None
    environment = dict(
        entry.split("=", 1)
        for entry in raw.decode("utf-8", errors="replace").split("\0")
        if "=" in entry
    )
    run_id, attempt = environment.get(ENV_RUN_ID), environment.get(ENV_ATTEMPT, "")
    if not run_id:
        return None
    return RunProcess(
        pid=pid,
        start_ticks=ticks,
        run_id=run_id,
        run_dir=Path(environment.get(ENV_RUN_DIR, "/")),
        attempt=int(attempt) if attempt.isdigit() else 0,
        argv=argv.decode("utf-8", errors="replace").rstrip("\0").split("\0"),
        gpu_grant=environment.get(ENV_GPU_GRANT, ""),
    )


def run_processes() -> list[RunProcess]:
    """Every process on this machine that belongs to a run and may be looked at, but not this one."""
    own = os.getpid()
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    found = (run_process(pid) for pid in pids if pid != own)
    return [process for process in found if process is not None]


def send_signal(process: RunProcess, number: signal.Signals) -> bool:
    """Signal exactly this process. Return False when it is gone already."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    try:
        # Checked while the handle is held: from here on the pid cannot change hands.
        if start_ticks(process.pid) != process.start_ticks:
            return False
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True
