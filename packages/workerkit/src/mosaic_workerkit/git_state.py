"""Which commit the code of a worker is, for the config event: where it lies in a git checkout."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

TIMEOUT_S = 5.0
"""Time for one git command. A run does not wait longer for a slow disk."""
_OPTIONS = ("-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false")
"""No program that a checkout names is started."""


def worker_git_state() -> dict[str, Any]:
    """Return the state of the checkout that the program of this process lies in, under the key `git`.

    Returns:
        What `git_state` returns of the main module's file; empty where it has none.
    """
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    return git_state(Path(main)) if main else {}


def git_state(path: Path) -> dict[str, Any]:
    """Return commit and changes of the git checkout that tracks a file, or a file in a folder.

    Args:
        path: file, or folder.

    Returns:
        `{"git": {"commit": ..., "dirty": ...}}`; `dirty` is whether tracked files were changed since the commit. Empty:
        there is no git here, no checkout, or the path is not tracked, such as an installed package below a checkout.
    """
    folder = path if path.is_dir() else path.parent
    name = "." if path.is_dir() else path.name
    if not _git(folder, "ls-files", "--", name):
        return {}
    commit = _git(folder, "rev-parse", "--verify", "HEAD")
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    if not commit or changes is None:
        return {}
    return {"git": {"commit": commit, "dirty": bool(changes)}}


def git_changes(folder: Path) -> bytes:
    """Return the changes of tracked files since the commit, as a diff of the whole checkout.

    Args:
        folder: in a git checkout.

    Returns:
        The diff as `git apply` reads it, without the content of binary files; empty: there is none, no git, or git took
        longer than `TIMEOUT_S`.
    """
    return _run(folder, "diff", "--no-color", "--no-ext-diff", "--no-textconv", "HEAD") or b""


def untracked_files(folder: Path, pattern: str, at_most: int = 20) -> list[str]:
    """Return files below a folder that git does not track and does not ignore.

    Args:
        folder: in a git checkout.
        pattern: that their names have, such as `*.py`.
        at_most: how many of them.
    """
    text = _git(folder, "ls-files", "--others", "--exclude-standard", "--", pattern)
    return text.splitlines()[:at_most] if text else []


def _git(folder: Path, *words: str) -> str | None:
    """The output of a git command; None: it failed, or there is no git."""
    done = _run(folder, *words)
    return None if done is None else done.decode(errors="replace").strip()


def _run(folder: Path, *words: str) -> bytes | None:
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        environment.pop(name, None)
    try:
        done = subprocess.run(
            ["git", *_OPTIONS, "-C", str(folder), *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        return None
    return done.stdout
