"""Opening the window at a run or an episode."""

import os
import subprocess
import sys

from mosaic_cli.stack.layout import Layout

COULD_NOT_OPEN = 6
"""Exit code of the window where it cannot open here (gui/README.md)."""
NO_DISPLAY = "There is no display here, so no window can open."
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")


def can_open() -> bool:
    """Whether this session has a display."""
    return sys.platform != "linux" or any(os.environ.get(name) for name in _DISPLAYS)


def open_window(*words: str) -> int:
    """Open the window with these options, wait until it is closed, and return its exit code.

    Raises:
        EnvironmentMissing: the environment of the window was not made.
    """
    python = Layout.of_environment().program("gui", "python")
    with subprocess.Popen([python, "-I", "-m", "mosaic_gui", *words]) as program:
        try:
            return program.wait()
        except KeyboardInterrupt:
            # the terminal has sent it to the window, too
            program.terminate()
            return program.wait()
