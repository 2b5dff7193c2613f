"""A report of a real run with a film: one file that asks nobody for anything, and the film is the episode."""

import base64
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from stack_under_test import VENVS, StackUnderTest

from mosaic_contracts.runs import EpisodeRow, RunView

FRAMES = """
import sys, av
with av.open(sys.argv[1]) as video:
    print(sum(1 for _ in video.decode(video=0)))
"""
LOADED_BY = {"src", "href", "srcset", "poster", "data", "action", "background"}
"""Attributes by which a page loads something."""


class Page(HTMLParser):
    """Sources of films, addresses of everything that is loaded, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.films: list[str] = []
        self.loaded: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what an element loads."""
        for name, value in attrs:
            if name in LOADED_BY and value is not None:
                (self.films if tag == "video" else self.loaded).append(value)

    def handle_data(self, data: str) -> None:
        """Collect the text."""
        self.text += data


@pytest.fixture(scope="module")
def page(stack: StackUnderTest, trained: RunView, tmp_path_factory: pytest.TempPathFactory) -> Page:
    """The report with a film."""
    target = tmp_path_factory.mktemp("report") / "report.html"
    done = stack.cli("report", trained.run_id, "--film", "-o", str(target))
    assert done.returncode == 0, done.stderr
    return Page(target.read_text("utf-8"))


@pytest.mark.nightly
def test_the_film_is_the_best_episode(
    stack: StackUnderTest, trained: RunView, page: Page, tmp_path: Path
) -> None:
    """It has a frame for the reset and one for each step of the best recorded episode, whose number the page says."""
    (source,) = page.films
    head, _, coded = source.partition(",")
    assert head == "data:video/mp4;base64"
    film = tmp_path / "film.mp4"
    film.write_bytes(base64.b64decode(coded, validate=True))
    python = str(VENVS / "exporter" / "bin" / "python")
    frames = int(subprocess.check_output([python, "-c", FRAMES, str(film)], text=True))
    shown = [row for row in best_episodes(stack, trained) if f"episode {row.episode}" in page.text]
    assert [row.length for row in shown][:1] == [frames - 1]


def test_the_page_loads_nothing(page: Page) -> None:
    """Whatever it shows is in the file, or a place in it."""
    assert all(address.startswith(("data:", "#")) for address in page.loaded), page.loaded


def best_episodes(stack: StackUnderTest, run: RunView) -> list[EpisodeRow]:
    """The ended episodes with the highest return."""
    with stack.client() as client:
        rows = [row for row in client.each_episode(run.run_id) if row.length is not None]
    best = max(row.episode_return or 0.0 for row in rows)
    return [row for row in rows if row.episode_return == best]
