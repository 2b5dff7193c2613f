"""The text size of the settings: Qt scales the whole window, so that nothing is cut."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PyQt6.QtCore import QSize

from mosaic_gui.controllers.preferences import SETTINGS_FILE
from mosaic_gui.state.settings import PLAIN_SIZE, VERSION, Settings
from mosaic_gui.state.toml_file import TomlFile

SCALE = "QT_SCALE_FACTOR"


@contextmanager
def text_size_of(kept: Path | None) -> Iterator[None]:
    """Let an application that is made in here have the saved text size; programs that it starts later do not.

    Args:
        kept: where the client keeps its settings; None: they are the defaults.
    """
    before = os.environ.get(SCALE)
    settings = TomlFile(kept / SETTINGS_FILE, Settings, VERSION).read().model if kept else None
    if settings is None or settings.text_size == PLAIN_SIZE:
        yield
        return
    os.environ[SCALE] = str(_factor(before) * int(settings.text_size) / int(PLAIN_SIZE))
    try:
        yield
    finally:
        if before is None:
            del os.environ[SCALE]
        else:
            os.environ[SCALE] = before


def is_too_large(least: tuple[int, int], room: QSize) -> bool:
    """Whether the smallest window, in the pixels of the layout, is larger than the screen."""
    return least[0] > room.width() or least[1] > room.height()


def _factor(text: str | None) -> float:
    """What Qt makes of the variable: the person's own scale, to which the text size is added."""
    try:
        return float(text or 1) or 1.0
    except ValueError:
        return 1.0
