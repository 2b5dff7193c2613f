"""The place of a run on this machine: its lock, whether its attempt began before, and what is cleared behind it.

Standard library and `mosaic_base` only, as the runner.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from mosaic_base.locks import try_lock
from mosaic_workerkit.runner_files import say

_LOOK_S = 0.3
"""A scheduler that looks whether the lock is free holds it for an instant; another runner holds it on."""
SECRET_FOLDERS = ("control/secrets", "control/xmpp")


def take_lock(run_dir: Path) -> int | None:
    """Take the lock of a run; None: another runner holds it."""
    fd = os.open(run_dir / "control/runner.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + _LOOK_S
    while True:
        if try_lock(fd):
            return fd
        if time.monotonic() > deadline:
            os.close(fd)
            return None
        time.sleep(0.01)


def ran_before(run_dir: Path, attempt: int) -> bool:
    """Whether this attempt was started before."""
    for name in ("runner.json", "exit.json"):
        try:
            known = json.loads((run_dir / "control" / name).read_text())
        except FileNotFoundError:
            continue
        if known.get("attempt") == attempt:
            return True
    return False


def clear_folder(run_dir: Path, attempt: int) -> None:
    """Remove what nobody needs on this machine any more: all, if the stack has all of it, and secrets in any case."""
    is_drained = _is_drained(run_dir, attempt)
    _remove([run_dir] if is_drained else [run_dir / top for top in SECRET_FOLDERS])


def clear_after_killed(run_dir: Path) -> None:
    """Remove the secrets of other runs on this machine whose runner was killed: it could not do that."""
    for lock in run_dir.parent.glob("*/control/runner.lock"):
        secrets = [lock.parents[1] / top for top in SECRET_FOLDERS]
        if lock.parents[1] == run_dir or not any(folder.exists() for folder in secrets):
            continue
        try:
            fd = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            continue  # it has ended in this moment
        try:
            if try_lock(fd):
                _remove(secrets)
        finally:
            os.close(fd)


def _is_drained(run_dir: Path, attempt: int) -> bool:
    """Whether the report says that the stack has all; no, where the worker deleted or damaged the report."""
    try:
        report = json.loads((run_dir / "control/exit.json").read_bytes())
    except (OSError, ValueError):
        return False
    if not isinstance(report, dict):
        return False
    return (report.get("attempt"), report.get("phase")) == (attempt, "drained")


def _remove(folders: list[Path]) -> None:
    import shutil  # imports compression libraries, which only such a run needs

    for folder in folders:
        if folder.exists():
            shutil.rmtree(
                folder,
                onerror=lambda _call, path, error: say(
                    "folder.not_cleared", path=str(path), error=str(error[1])
                ),
            )
