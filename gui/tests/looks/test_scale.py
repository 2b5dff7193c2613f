import os
import subprocess
import sys

import pytest

_PICTURE = """
import sys
from PyQt6.QtWidgets import QApplication, QLabel
from mosaic_gui.theme.apply import apply_theme, load_fonts
from mosaic_gui.theme.icon import pixmap
from mosaic_gui.theme.tokens import DARK
from mosaic_gui.views.badge import Badge
app = QApplication([])
load_fonts()
apply_theme(app, DARK)
badge = Badge("Running", "accent")
picture = badge.grab()
print(badge.width(), picture.width(), picture.devicePixelRatio(), pixmap("runs", "#ffffff").width())
"""


@pytest.mark.parametrize("scale", [1, 2])
def test_a_screen_of_high_density_is_drawn_in_its_own_pixels(scale: int) -> None:
    """Sizes in the layout stay, pictures have twice the pixels, and icons have enough for it."""
    environ = os.environ | {"QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": str(scale)}
    done = subprocess.run(
        [sys.executable, "-c", _PICTURE],
        env=environ,
        capture_output=True,
        text=True,
        timeout=50,
        check=True,
    )
    width, pixels, ratio, icon = (float(word) for word in done.stdout.split())
    assert ratio == scale
    assert pixels == width * scale
    assert icon >= 18 * 2
