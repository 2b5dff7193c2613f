"""Each picture of README and docs is made by `./mosaic pictures`."""

import os
import re
import shutil
from pathlib import Path

import pictures
import pytest
from code_paths import ROOT
from terminal_picture import draw_command

_PICTURE = re.compile(r"\]\(([^)\s]*img/[^)\s]+\.(?:png|svg))\)")
_SCREENSHOT = ROOT / "gui" / "src" / "mosaic_gui" / "program" / "screenshot.py"


def used_pictures() -> dict[Path, set[str]]:
    """Return the pictures of docs/img that pages show or link to, each with its pages."""
    found: dict[Path, set[str]] = {}
    for page in (*ROOT.glob("*.md"), *ROOT.glob("*/README.md"), *ROOT.glob("docs/**/*.md")):
        for link in _PICTURE.findall(page.read_text("utf-8")):
            found.setdefault((page.parent / link).resolve(), set()).add(page.name)
    return found


def test_each_picture_of_the_docs_is_made_by_the_command() -> None:
    """Pages show exactly the pictures that the command makes, figures drawn by hand, and those of benchmarks."""
    others = (*pictures.DRAWN_BY_HAND, *pictures.BY_BENCHMARKS)
    made = {pictures.IMAGES / name for name in (*pictures.PICTURES, *others)}
    assert used_pictures().keys() == made
    assert set(pictures.IMAGES.iterdir()) == made


@pytest.mark.parametrize("view", sorted(pictures.VIEWS.values()))
def test_each_view_is_one_of_the_window(view: str) -> None:
    """The names are those of `./mosaic gui --screenshot`."""
    assert f'"{view}"' in _SCREENSHOT.read_text("utf-8")


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The message lists the pictures that there are."""
    with pytest.raises(SystemExit):
        pictures.main(["window.png"])
    assert "gui.png" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("tmux") is None, reason="the picture of a terminal needs tmux")
def test_the_screen_of_a_command_is_drawn(tmp_path: Path) -> None:
    """Text, variables and the working folder reach the command; the SVG loads no font."""
    svg = draw_command(
        ["sh", "-c", 'printf "\\033[1mbold $WORD\\033[0m\\n"; basename "$PWD"'],
        title="a title",
        width=40,
        folder=tmp_path,
        environment={"WORD": "it's", "PATH": os.environ["PATH"]},
        limit_s=60,
    )
    assert "bold&#160;it&#x27;s" in svg
    assert tmp_path.name[:30] in svg
    assert "@font-face" not in svg
