"""What lies outside of the data root: counted with hard links, never removed."""

import os
from pathlib import Path

import pytest

from mosaic_cli.stack.layout import Layout
from mosaic_cli.storage.folders import FolderSize, folder_sizes
from mosaic_cli.storage.outside import CACHE, OutsideKind, outside_entries, uv_cache

MIB = 2**20


def _write(path: Path, size: int = MIB) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(os.urandom(size))
    return path


def test_a_file_that_is_linked_elsewhere_would_not_be_freed(tmp_path: Path) -> None:
    """An environment shares its files with uv's cache, and removing it frees its own ones alone."""
    own = _write(tmp_path / "cache" / "torch")
    (tmp_path / "venv").mkdir()
    os.link(own, tmp_path / "venv" / "torch")
    _write(tmp_path / "venv" / "bin" / "python")
    sizes = folder_sizes({"venv": tmp_path / "venv"})
    assert sizes["venv"].bytes - sizes["venv"].own_bytes == MIB
    assert sizes["venv"].own_bytes >= MIB


def test_a_file_with_two_names_in_a_folder_counts_once(tmp_path: Path) -> None:
    """Both names are in the folder, so that its removal frees the file."""
    first = _write(tmp_path / "f" / "a")
    os.link(first, tmp_path / "f" / "b")
    assert folder_sizes({"f": tmp_path / "f"})["f"] == FolderSize(MIB, MIB)


def test_links_are_not_followed_and_missing_folders_are_left_out(tmp_path: Path) -> None:
    """A link to a large folder elsewhere adds nothing."""
    _write(tmp_path / "large" / "file")
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "link").symlink_to(tmp_path / "large")
    sizes = folder_sizes({"f": tmp_path / "f", "none": tmp_path / "none"})
    assert sizes["f"].bytes < MIB
    assert "none" not in sizes


def test_environments_and_the_cache_are_listed_with_their_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The largest first; files that begin with a point are locks, and no environment."""
    monkeypatch.setenv("PATH", "")  # no container engine
    layout = Layout(tmp_path, tmp_path / "home", tmp_path / "venvs")
    _write(layout.venvs / "scheduler" / "lib", 2 * MIB)
    _write(layout.venvs / ".scheduler.lock", 10)
    _write(tmp_path / "cache" / "wheel")
    entries = outside_entries(layout, {"UV_CACHE_DIR": str(tmp_path / "cache")})
    assert [(entry.kind, entry.name) for entry in entries] == [
        (OutsideKind.ENVIRONMENT, "scheduler"),
        (OutsideKind.CACHE, CACHE),
    ]
    assert "./mosaic sync scheduler" in entries[0].command
    assert (layout.venvs / "scheduler" / "lib").exists()


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"UV_CACHE_DIR": "/c", "HOME": "/h"}, "/c"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/uv"),
        ({"HOME": "/h"}, "/h/.cache/uv"),
    ],
)
def test_the_cache_is_where_uv_has_it(environ: dict[str, str], folder: str) -> None:
    """As uv finds it."""
    assert uv_cache(environ) == Path(folder)
