"""The screen of a command as an SVG picture: the command runs in a terminal of tmux."""

import io
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

HEIGHT = 60
"""Rows of the terminal; empty rows at the end are left out."""


class TerminalMissing(Exception):
    """There is no terminal program to run the command in."""


def draw_command(
    command: Sequence[str],
    *,
    title: str,
    width: int,
    folder: Path,
    environment: Mapping[str, str],
    limit_s: float,
) -> str:
    """Run a command in a terminal of its own and draw the screen that it leaves.

    Args:
        command: program and arguments.
        title: text in the title bar of the picture.
        width: columns of the terminal.
        folder: working folder of the command.
        environment: variables that are added to those of this process.
        limit_s: time limit of the command, in seconds.

    Returns:
        An SVG document that fetches nothing from elsewhere.

    Raises:
        TerminalMissing: tmux is not installed.
        subprocess.TimeoutExpired: the command did not end in time.
    """
    if shutil.which("tmux") is None:
        raise TerminalMissing("The picture of a terminal needs tmux: apt-get install tmux.")
    # a server of its own: the one of the user, with its settings, is not touched
    server = ["tmux", "-L", f"mosaic-picture-{os.getpid()}", "-f", os.devnull]
    line = f"{' '.join(map(_quoted, command))}; {' '.join(server)} wait-for -S ended; exec cat"
    variables = [f"{name}={value}" for name, value in environment.items()]
    size = ["-x", str(width), "-y", str(HEIGHT)]
    subprocess.run(
        [
            *server,
            "new-session",
            "-d",
            *size,
            "-c",
            str(folder),
            "env",
            *variables,
            "sh",
            "-c",
            line,
        ],
        check=True,
    )
    try:
        subprocess.run([*server, "wait-for", "ended"], check=True, timeout=limit_s)
        screen = subprocess.run(
            [*server, "capture-pane", "-pe"], check=True, capture_output=True, text=True
        ).stdout
    finally:
        subprocess.run([*server, "kill-server"], check=True)
    return svg_of_screen(screen, title, width)


def svg_of_screen(screen: str, title: str, width: int) -> str:
    """Draw text with ANSI colours; fonts that the SVG would fetch from elsewhere are left out."""
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(screen.rstrip()))
    svg = console.export_svg(title=title, unique_id="mosaic")
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL) + "\n"


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"
