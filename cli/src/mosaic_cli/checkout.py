"""The git state of the checkout that this program runs from."""

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mosaic_contracts.run_archives import GitState

_GIT_TIMEOUT_S = 10.0


def git_checkout() -> "GitState | None":
    """The checkout that this program runs from; None: it was installed, or there is no git."""
    from mosaic_cli.stack.layout import Layout
    from mosaic_contracts.run_archives import GitState

    root = Layout.of_environment().root
    if not (root / ".git").exists():
        return None
    try:
        commit = _git(root, "rev-parse", "HEAD").strip()
        return GitState(commit=commit, dirty=bool(_git(root, "status", "--porcelain").strip()))
    except (OSError, subprocess.SubprocessError):
        return None


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=_GIT_TIMEOUT_S,
    )
    return done.stdout
