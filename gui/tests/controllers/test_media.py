"""Names, values and images of a run over a real HTTP connection."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from PyQt6.QtCore import QBuffer
from PyQt6.QtGui import QImage
from pytestqt.qtbot import QtBot
from tests.media_specimen import NAMES, histograms, images
from tests.net.gateway_stub import Answer, HttpStub
from tests.specimen import run, run_id

from mosaic_contracts.problems import Problem, ProblemCode
from mosaic_contracts.states import RunState
from mosaic_gui.controllers.media import MediaController
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.api import ApiClient
from mosaic_gui.net.location import StackLocation
from mosaic_gui.state.store import Store
from mosaic_gui.viewmodels.media import MediaModel
from mosaic_gui.viewmodels.watch import WatchModel

WAIT_MS = 60_000


class Bench:
    """The controller with a client of a stub, while an ended run is watched."""

    def __init__(self) -> None:
        self.stub = HttpStub()
        self.api = ApiClient(StackLocation(self.stub.url, "secret"))
        store = Store()
        store.replace_runs([run(0, RunState.SUCCEEDED)])
        self.watch = WatchModel(store)
        self.model = MediaModel(self.watch)
        self.media = MediaController(self.model)
        self.media.session = cast(StreamSession, SimpleNamespace(api=self.api, store=store))
        self.watch.watch(run_id(0))

    def answer(self, *bodies: Any) -> None:
        """Answer the next requests with these."""
        self.stub.answers.extend(Answer(body=body) for body in bodies)

    @property
    def paths(self) -> list[str]:
        """What was asked for, below the run."""
        return [asked.path.partition(run_id(0))[2] for asked in self.stub.asked]


@pytest.fixture
def bench(qtbot: QtBot) -> Iterator[Bench]:
    """A bench whose connections end with it."""
    made = Bench()
    yield made
    made.media.detach()
    made.api.close()
    made.stub.close()


def plain(models: Any) -> Any:
    """A model, or a list of them, as JSON has it."""
    if isinstance(models, list):
        return [one.model_dump(mode="json") for one in models]
    return models.model_dump(mode="json")


def png(size: int) -> bytes:
    """A file of that many rows, which no compression makes small."""
    image = QImage(64, size, QImage.Format.Format_RGB32)
    for x in range(64):
        for y in range(size):
            image.setPixel(x, y, (x * 2_654_435_761 ^ y * 40_503 * x * y) & 0xFFFFFF)
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")
    return bytes(buffer.data().data())


def test_values_are_read_when_they_are_looked_at(qtbot: QtBot, bench: Bench) -> None:
    """Names with the page; values only with the panel."""
    bench.answer(plain(NAMES))
    bench.media.show_page(True)
    qtbot.waitUntil(lambda: bench.model.is_offered, timeout=WAIT_MS)
    assert bench.paths == ["/media"]
    bench.answer({"kind": "text", "name": "samples/plan", "count": 0, "values": []})
    bench.media.show_panel(True)
    qtbot.waitUntil(lambda: len(bench.paths) == 2, timeout=WAIT_MS)
    bench.answer(plain(histograms(5)))
    bench.model.choose(("histogram", "weights/fc1"))
    qtbot.waitUntil(lambda: len(bench.model.values) == 5, timeout=WAIT_MS)
    assert bench.paths[1:] == [
        "/media/values?kind=text&name=samples%2Fplan&most=200",
        "/media/values?kind=histogram&name=weights%2Ffc1&most=300",
    ]


@pytest.mark.parametrize("size", [8, 400])
def test_an_image_is_read_once(qtbot: QtBot, bench: Bench, size: int) -> None:
    """A small and a large one are decoded; a slider that comes back reads nothing again."""
    bench.answer(plain(NAMES[2:]), plain(images(2)), png(size), png(size))
    bench.media.show_panel(True)
    bench.media.show_page(True)
    qtbot.waitUntil(lambda: bench.model.image is not None, timeout=WAIT_MS)
    image = bench.model.image
    assert image is not None
    assert (image.width(), image.height()) == (64, size)
    for place in (0, 1, 0):
        bench.model.choose_place(place)
        qtbot.waitUntil(lambda: bench.model.image is not None, timeout=WAIT_MS)
    assert bench.paths[2:] == ["/artifacts/media/frames/1.png", "/artifacts/media/frames/0.png"]


def test_an_image_that_is_gone_or_broken_says_so(qtbot: QtBot, bench: Bench) -> None:
    """The other values stay."""
    gone = Problem(code=ProblemCode.ARTIFACT_UNKNOWN, title="gone", detail="", status=404)
    bench.answer(plain(NAMES[2:]), plain(images(2)))
    bench.stub.answers.append(Answer(404, gone.model_dump(mode="json")))
    bench.media.show_panel(True)
    bench.media.show_page(True)
    qtbot.waitUntil(lambda: bool(bench.model.image_fault), timeout=WAIT_MS)
    assert bench.model.image_fault == "The file of this image is no longer there."
    bench.answer(b"no picture")
    bench.model.choose_place(0)
    qtbot.waitUntil(lambda: bool(bench.model.image_fault), timeout=WAIT_MS)
    assert "cannot be read" in bench.model.image_fault


def test_another_run_has_names_of_its_own(qtbot: QtBot, bench: Bench) -> None:
    """Names of the run before are not shown, and an answer that comes late is dropped."""
    bench.answer(plain(NAMES))
    bench.media.show_page(True)
    qtbot.waitUntil(lambda: bench.model.is_offered, timeout=WAIT_MS)
    bench.watch.watch(run_id(1))
    assert not bench.model.is_offered
    bench.model.take_names(run_id(0), NAMES)
    assert not bench.model.is_offered
