"""Processes by what /proc says of them. A pid alone is never trusted: it may be another process by now."""

import os
import signal
from pathlib import Path

from mosaic_base import procfs
from mosaic_base.procfs import start_ticks
from mosaic_contracts.launch import ENV_ATTEMPT, ENV_GPU_GRANT, ENV_RUN_DIR, ENV_RUN_ID
from mosaic_scheduler.executors.protocol import RunProcess


def run_process(pid: int) -> RunProcess | None:
    """The process, when it belongs to a run."""
    ticks = start_ticks(pid)
    try:
        entries = procfs.environment(pid)
        argv = procfs.command(pid)
    except OSError:
        return None  # gone, or another user's
    mark = ENV_RUN_ID.encode()
    if ticks is None or not any(entry.startswith(mark) for entry in entries):
        return None
    texts = (entry.decode("utf-8", errors="replace") for entry in entries)
    environment = dict(text.split("=", 1) for text in texts if "=" in text)
    run_id, attempt = environment.get(ENV_RUN_ID), environment.get(ENV_ATTEMPT, "")
    if not run_id:
        return None
    return RunProcess(
        pid=pid,
        start_ticks=ticks,
        run_id=run_id,
        run_dir=Path(environment.get(ENV_RUN_DIR, "/")),
        attempt=int(attempt) if attempt.isdigit() else 0,
        argv=[word.decode("utf-8", errors="replace") for word in argv],
        gpu_grant=environment.get(ENV_GPU_GRANT, ""),
    )


def run_processes() -> list[RunProcess]:
    """Every process on this machine that belongs to a run and may be looked at, but not this one."""
    own = os.getpid()
    found = (run_process(pid) for pid in procfs.pids() if pid != own)
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
