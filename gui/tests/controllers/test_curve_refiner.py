from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from pytestqt.qtbot import QtBot
from tests.specimen import run, run_id
from tests.state.test_downsampling import NAME, reduced

from mosaic_contracts.curve_set import CurveSet
from mosaic_gui.controllers.curve_refiner import FINER, CurveRefiner
from mosaic_gui.net.reply import ApiReply
from mosaic_gui.state.series import PointSeries
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.viewmodels.curves import Stretch

RUN = run_id(0)
VALUES = np.sin(np.arange(50_000) / 300)
SEEN = Stretch(RUN, NAME, 10_000, 10_400, 300)


class Questions:
    """A session with one long run, that answers when a test says so."""

    def __init__(self) -> None:
        self.api = self
        self.store = Store()
        self.store.replace_runs([run(0)])
        self.store.follow(RUN)
        self.store.begin_curves(RUN, [reduced(VALUES, 50)], "1.worker.9")
        self.asked: list[tuple[tuple[int, int], int, ApiReply]] = []
        self.noted: list[Changes] = []

    @property
    def series(self) -> PointSeries:
        return self.store.followed[RUN].curves.series[NAME]

    def curves(
        self, _run: str, _names: Sequence[str], buckets: int, bounds: tuple[int, int]
    ) -> ApiReply:
        self.asked.append((bounds, buckets, ApiReply()))
        return self.asked[-1][2]

    def note(self, changes: Changes) -> None:
        self.noted.append(changes)

    def answer(self) -> None:
        """What the store has there, point by point."""
        (first, last), _, reply = self.asked[-1]
        found = reduced(VALUES[first : last + 1], 1, first)
        reply.succeed(CurveSet(run_id=RUN, names=[NAME], cursor="1.worker.9", curves=[found]))


def reported(session: Any) -> CurveRefiner:
    """What refines, for a session."""
    made = CurveRefiner()
    made.session = session
    return made


@pytest.fixture
def session() -> Questions:
    return Questions()


def test_a_wheel_that_turns_asks_once(qtbot: QtBot, session: Questions) -> None:
    """Only the last of all stretches that were looked at in passing is read, with room on either side."""
    refiner = reported(session)
    for place in range(9_000, 10_001, 100):
        refiner.want(Stretch(RUN, NAME, place, place + 400, 300))
    qtbot.waitUntil(lambda: bool(session.asked))
    assert [(bounds, buckets) for bounds, buckets, _ in session.asked] == [
        ((9_800, 10_600), 300 * FINER)
    ]
    refiner.detach()


def test_what_is_looked_at_gets_its_own_points(qtbot: QtBot, session: Questions) -> None:
    """The answer takes the place of the coarse points there, is drawn, and is not asked for again."""
    refiner = reported(session)
    refiner.want(SEEN)
    qtbot.waitUntil(lambda: bool(session.asked))
    session.answer()
    part = slice(*np.searchsorted(session.series.steps, (10_000, 10_400)))
    assert session.series.values[part] == pytest.approx(VALUES[10_000:10_400])
    assert session.noted == [Changes(curves=frozenset({RUN}))]
    refiner.want(SEEN)
    assert not refiner._settle.isActive()
    assert len(session.asked) == 1
    refiner.detach()


def test_an_answer_of_a_stack_that_was_left_changes_nothing(
    qtbot: QtBot, session: Questions
) -> None:
    """A user who went to another stack, or let the run go, does not get the points from before."""
    refiner = reported(session)
    refiner.want(SEEN)
    qtbot.waitUntil(lambda: bool(session.asked))
    before = session.series.values.tolist()
    refiner.session = None
    session.answer()
    assert session.series.values.tolist() == before
    assert not session.noted
    refiner.detach()
