"""Drawings of the style sheet are in memory: they are drawn, and no file is made for them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from PyQt6.QtCore import QFile, QIODevice
from PyQt6.QtGui import QImage
from PyQt6.QtWidgets import QApplication

from mosaic_gui.theme.drawings import drawing
from mosaic_gui.theme.icon import svg

KILLED = """
import os, signal, sys
from PyQt6.QtWidgets import QApplication
from mosaic_gui.theme.apply import apply_theme
from mosaic_gui.theme.tokens import DARK
app = QApplication(sys.argv)
apply_theme(app, DARK)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_drawing_is_a_resource_in_its_colour(qapp: QApplication) -> None:
    """Two colours of one icon are two files, which Qt reads as pictures."""
    for colour in ("#123456", "#abcdef"):
        address = drawing("check", colour)
        file = QFile(address)
        assert file.open(QIODevice.OpenModeFlag.ReadOnly)
        assert file.readAll().data().decode() == svg("check", colour)
        picture = QImage(address)
        inked = {picture.pixelColor(x, 12).name() for x in range(picture.width())}
        assert colour in inked


def test_a_killed_window_leaves_no_file(tmp_path: Path) -> None:
    """After `kill -9` the folder for temporary files is empty."""
    environ = os.environ | {"TMPDIR": str(tmp_path), "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run([sys.executable, "-c", KILLED], env=environ, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []
