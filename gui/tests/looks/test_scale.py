import os
import subprocess
import sys
from pathlib import Path

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


_LARGEST = """
import os
from pathlib import Path
from typing import get_args
from PyQt6.QtWidgets import QApplication
from mosaic_gui.controllers.preferences import PreferenceStore
from mosaic_gui.program.text_size import text_size_of
from mosaic_gui.state.settings import TextSize
kept = Path(os.environ["MOSAIC_HOME"])
PreferenceStore(kept).change("text_size", get_args(TextSize)[-1])
with text_size_of(kept):
    app = QApplication([])
assert "QT_SCALE_FACTOR" not in os.environ
from mosaic_contracts.states import RunState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.theme.apply import apply_theme, load_fonts
from mosaic_gui.theme.tokens import DARK
from mosaic_gui.views.main_window import LEAST, RUNS, SETTINGS, TRAIN, WATCH
from tests.looks.test_looks import clipped_texts
from tests.specimen import run, run_id
load_fonts()
apply_theme(app, DARK)
client = DesktopClient(kept)
client.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
runs = [run(n, state, tags=["ablation"]) for n, state in enumerate(RunState)]
client.table.consume(client.store.replace_runs(runs))
client.watch.watch(run_id(0))
client.window.resize(*LEAST)
client.window.show()
for page in (RUNS, TRAIN, WATCH, SETTINGS):
    client.window.show_page(page)
    app.processEvents()
    cut = [text for text in clipped_texts(client.window) if text]
    print(page, client.window.grab().devicePixelRatio(), cut)
client.close()
"""


def test_the_largest_text_size_cuts_nothing(tmp_path: Path) -> None:
    """Everything grows with the texts, at the smallest window too; programs started later keep their own size."""
    done = subprocess.run(
        [sys.executable, "-c", _LARGEST],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"QT_QPA_PLATFORM": "offscreen", "MOSAIC_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    assert done.stdout.splitlines() == [
        f"{page} 1.5 []" for page in ("runs", "train", "watch", "settings")
    ]
