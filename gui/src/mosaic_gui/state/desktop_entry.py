"""MOSAIC in the applications menu: a `.desktop` file and an icon in the user's data folder, and their removal.

Task bars take name and icon of a window from this file, and show its progress there (`net/desktop.py`).
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from mosaic_base.atomic import replace_file
from mosaic_gui.errors import DesktopEntryRefused
from mosaic_gui.state.language import tr

ENTRY, ICON = "applications/mosaic.desktop", "icons/hicolor/scalable/apps/mosaic.svg"
_OURS = "X-MOSAIC-Entry=1"
"""Line by which our own file is known."""
_HEAD = "[Desktop Entry]"  # unsaid: the format
_FIXED = {
    "Type": "Application",
    "Version": "1.5",
    "Name": "MOSAIC",
    "Icon": "mosaic",
    "Terminal": "false",
    "Categories": "Science;Education;",
    "StartupNotify": "true",
    "StartupWMClass": "MOSAIC",
}
"""Keys of the file (Desktop Entry Specification 1.5)."""


def user_data(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of the user's applications and icons (XDG base directories)."""
    named = Path(environ.get("XDG_DATA_HOME", ""))
    return named if named.is_absolute() else Path.home() / ".local" / "share"


def command(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Words that open this window again: the program that opened it, with its data folder."""
    program = environ.get("MOSAIC_PROGRAM")
    words = [program, "gui"] if program else [sys.executable, "-I", "-m", "mosaic_gui"]
    home = environ.get("MOSAIC_HOME")
    return ["env", f"MOSAIC_HOME={home}", *words] if home else words


def is_installed(folder: Path) -> bool:
    """Whether the file is there."""
    return (folder / ENTRY).exists()


def install(folder: Path, words: list[str], svg: str) -> Path:
    """Write file and icon; return the file.

    Args:
        folder: see `user_data`.
        words: see `command`.
        svg: the icon.

    Raises:
        DesktopEntryRefused: another program has a file of this name, or it cannot be written.
    """
    entry = folder / ENTRY
    _require_ours(entry)
    keys = _FIXED | {
        "Comment": tr("Train and study reinforcement-learning agents"),
        "Exec": " ".join(map(_quoted, words)),
    }
    lines = [_HEAD, *(f"{key}={value}" for key, value in keys.items()), _OURS, ""]
    text = "\n".join(lines)
    try:
        for path, content in ((folder / ICON, svg), (entry, text)):
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, content.encode())
    except OSError as error:
        raise _refusal(entry, error) from error
    return entry


def remove(folder: Path) -> None:
    """Remove file and icon, where they are there.

    Raises:
        DesktopEntryRefused: the file is another program's, or it cannot be removed.
    """
    entry = folder / ENTRY
    _require_ours(entry)
    try:
        for path in (entry, folder / ICON):
            path.unlink(missing_ok=True)
    except OSError as error:
        raise _refusal(entry, error) from error


def _require_ours(entry: Path) -> None:
    try:
        is_ours = _OURS in entry.read_text("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return
    except OSError as error:
        raise _refusal(entry, error) from error
    if not is_ours:
        raise DesktopEntryRefused(
            tr("{file} belongs to another program. Rename it, and try again.", file=entry)
        )


def _refusal(entry: Path, error: OSError) -> DesktopEntryRefused:
    return DesktopEntryRefused(
        tr("{file} cannot be changed ({why}).", file=entry, why=error.strerror or error)
    )


def _quoted(word: str) -> str:
    """A word of `Exec`: quoted, with what the desktop would replace escaped, twice as the format wants it."""
    inner = "".join(f"\\{sign}" if sign in '"`$\\' else sign for sign in word)
    return f'"{inner}"'.replace("\\", "\\\\").replace("%", "%%")
