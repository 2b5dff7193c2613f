import subprocess
from pathlib import Path

import pytest

from mosaic_workerkit.git_state import git_changes, git_state, untracked_files


def git(folder: Path, *words: str) -> str:
    """One real git command in a folder."""
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    done = subprocess.run(
        ["git", *identity, "-C", str(folder), *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with one commit."""
    git(tmp_path, "init", "-q")
    (tmp_path / "worker.py").write_text("print(1)\n")
    git(tmp_path, "add", "worker.py")
    git(tmp_path, "commit", "-qm", "Begin")
    return tmp_path


def test_commit_of_a_tracked_file(checkout: Path) -> None:
    """A file and its folder are of the commit that is checked out."""
    clean = {"git": {"commit": git(checkout, "rev-parse", "HEAD"), "dirty": False}}
    assert git_state(checkout / "worker.py") == clean
    assert git_state(checkout) == clean


def test_changed_files_make_it_dirty(checkout: Path) -> None:
    """A change of a tracked file counts, a new file that nobody added does not."""
    (checkout / "notes.txt").write_text("mine")
    assert git_state(checkout)["git"]["dirty"] is False
    (checkout / "worker.py").write_text("print(2)\n")
    assert git_state(checkout)["git"]["dirty"] is True


def test_what_the_checkout_does_not_track_has_no_commit(checkout: Path) -> None:
    """An installed package in an environment below a checkout is not of its commit."""
    installed = checkout / ".venv" / "lib" / "package.py"
    installed.parent.mkdir(parents=True)
    installed.write_text("")
    assert git_state(installed) == {}
    assert git_state(installed.parent) == {}


def test_without_a_checkout_nothing_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plain folder, a checkout without a commit, and a machine without git have no state."""
    assert git_state(tmp_path) == {}
    git(tmp_path, "init", "-q")
    (tmp_path / "worker.py").write_text("")
    git(tmp_path, "add", "worker.py")
    assert git_state(tmp_path) == {}
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_state(tmp_path) == {}


def test_changes_and_new_files(checkout: Path) -> None:
    """The diff of all tracked files, and the files that git does not know."""
    assert git_changes(checkout) == b""
    (checkout / "worker.py").write_text("print(2)\n")
    (checkout / "new.py").touch()
    (checkout / "new.txt").touch()
    assert b"\n-print(1)\n+print(2)\n" in git_changes(checkout)
    assert untracked_files(checkout, "*.py") == ["new.py"]
    assert git_changes(checkout.parent) == b""
