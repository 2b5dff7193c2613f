from collections.abc import Sequence

import numpy as np
import pytest
from PyQt6.QtTest import QSignalSpy
from pytestqt.qtbot import QtBot
from tests.specimen import metrics, run, run_id

from mosaic_contracts.curve_set import (
    EPISODE_RETURN,
    POINT_COLUMNS,
    CurveSet,
    DrawnCurve,
)
from mosaic_contracts.runs import EventPage
from mosaic_gui.controllers import run_opening as opening_module
from mosaic_gui.controllers.run_opening import RunOpening
from mosaic_gui.net.reply import ApiProblem, ApiReply
from mosaic_gui.state.store import Store

RUN = run_id(0)
NAMES = [EPISODE_RETURN, *(f"losses/{letter}" for letter in "abcdefghij")]


class Questions:
    """What an ApiClient is asked here, answered when a test says so; a real gateway answers in test_hardship.py."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str], str, ApiReply]] = []

    def curves(self, _run: str, names: Sequence[str], _buckets: int) -> ApiReply:
        return self._ask("curves", names, "")

    def events(self, _run: str, cursor: str, types: Sequence[str], _limit: int) -> ApiReply:
        return self._ask("events", types, cursor)

    def _ask(self, what: str, names: Sequence[str], cursor: str) -> ApiReply:
        reply = ApiReply()
        self.asked.append((what, list(names), cursor, reply))
        return reply

    def take(self, what: str) -> tuple[list[str], str, ApiReply]:
        """The oldest open question of a kind."""
        found = next(one for one in self.asked if one[0] == what)
        self.asked.remove(found)
        return found[1:]


@pytest.fixture
def store() -> Store:
    """One run that is about to be watched."""
    made = Store()
    made.replace_runs([run(0)])
    made.follow(RUN)
    return made


def curve_set(names: Sequence[str], cursor: str) -> CurveSet:
    """Two points of each."""
    rows = np.array([[1.0, 2.0], [101.0, 102.0], [5.0, 6.0]], dtype="<f8")
    columns = {name: row.tobytes() for name, row in zip(POINT_COLUMNS, rows, strict=True)}
    curves = [DrawnCurve(name=n, points=2, reduced=False, columns=columns) for n in names]
    return CurveSet(run_id=RUN, names=NAMES, cursor=cursor, curves=curves)


def test_what_people_look_at_first_comes_first_and_live_after_all(
    qtbot: QtBot, store: Store
) -> None:
    """Pages of curves of different moments join live from the earliest, each series from its own end."""
    api = Questions()
    opening = RunOpening(RUN, api, store)  # type: ignore[arg-type]
    ready = QSignalSpy(opening.ready)
    opening.start()
    api.take("curves")[2].succeed(curve_set([], "1.worker.90"))
    pages = []
    while any(one[0] == "curves" for one in api.asked):
        names, _, reply = api.take("curves")
        pages.append(names)
        assert not len(ready)
        reply.succeed(curve_set(names, f"1.worker.{100 - len(pages)}"))
    assert sorted(name for page in pages for name in page) == sorted(NAMES)
    assert set(pages[0]) < {"losses/a", "losses/b", "losses/c", "losses/d"}
    assert ready[0][0].cursor == f"1.worker.{100 - len(pages)}"
    first, last = pages[0][0], pages[-1][0]
    batch = metrics(95, first, [7.0] * 8)
    batch.columns["metric"]["name"] = [first, last] * 4
    store.apply(batch)
    series = store.followed[RUN].curves.series
    # the first page ended with 99, the last one with 96: of 95, 97, ... and of 96, 98, ... what is behind that is new
    assert len(pages) == 4
    assert (len(series[first]), len(series[last])) == (2 + 1, 2 + 3)
    opening.stop()


def test_the_rest_of_the_past_comes_by_pages(qtbot: QtBot, store: Store) -> None:
    """Facts, then extras, as far as the joint; what is behind it comes live and is not taken twice."""
    api = Questions()
    opening = RunOpening(RUN, api, store)  # type: ignore[arg-type]
    opening.start()
    api.take("curves")[2].succeed(curve_set([], "1.worker.4"))
    while any(one[0] == "curves" for one in api.asked):
        names, _, reply = api.take("curves")
        reply.succeed(curve_set(names, "1.worker.4"))

    def page(seq: int, kind: str, more: bool) -> EventPage:
        event = {"type": kind, "attempt": 1, "source": "worker", "seq": seq, "t": float(seq)}
        return EventPage(events=[event | {"data": {}}], cursor=f"1.worker.{seq}", has_more=more)

    types, cursor, reply = api.take("events")
    assert ("log" in types, "metric" in types, cursor) == (True, False, "")
    reply.succeed(page(2, "log", True))
    qtbot.waitUntil(lambda: bool(api.asked))
    _, cursor, reply = api.take("events")
    assert cursor == "1.worker.2"
    reply.succeed(page(9, "log", True))
    qtbot.waitUntil(lambda: bool(api.asked))
    types, cursor, reply = api.take("events")
    assert (types, cursor) == (["*.*"], "")
    reply.succeed(page(3, "bdi.plan", False))
    followed = store.followed[RUN]
    assert [event["seq"] for event in followed.log_events] == [2]
    assert followed.extras == {"bdi.plan"}
    assert not api.asked
    opening.stop()


def test_a_stack_without_curves_sends_events(qtbot: QtBot, store: Store) -> None:
    """Whatever came of the curves is dropped, and the run is followed from its start."""
    api = Questions()
    opening = RunOpening(RUN, api, store)  # type: ignore[arg-type]
    ready = QSignalSpy(opening.ready)
    opening.start()
    api.take("curves")[2].succeed(curve_set([], "1.worker.4"))
    names, _, reply = api.take("curves")
    reply.succeed(curve_set(names, "1.worker.4"))
    api.take("curves")[2].fail(ApiProblem("It cannot be read.", is_answer_unread=True))
    assert [ready[n][0].cursor for n in range(len(ready))] == [""]
    assert not store.followed[RUN].curves.series
    opening.stop()


def test_a_run_without_curves_is_followed_from_its_start(qtbot: QtBot, store: Store) -> None:
    """One that was launched a moment ago is live at once."""
    api = Questions()
    opening = RunOpening(RUN, api, store)  # type: ignore[arg-type]
    ready = QSignalSpy(opening.ready)
    opening.start()
    api.take("curves")[2].succeed(CurveSet(run_id=RUN, names=[], cursor="1.worker.2", curves=[]))
    assert ready[0][0].cursor == ""
    opening.stop()


def test_a_gateway_that_is_coming_back_is_asked_again(
    qtbot: QtBot, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long run is not read event by event only because the gateway was killed while it was opened."""
    monkeypatch.setattr(opening_module, "RETRY_MS", 20)
    api = Questions()
    opening = RunOpening(RUN, api, store)  # type: ignore[arg-type]
    ready = QSignalSpy(opening.ready)
    opening.start()
    api.take("curves")[2].succeed(curve_set([], "1.worker.4"))
    names, _, reply = api.take("curves")
    reply.succeed(curve_set(names, "1.worker.2"))
    api.take("curves")[2].fail(ApiProblem("No stack answers."))
    api.asked.clear()
    qtbot.waitUntil(lambda: bool(api.asked))
    assert not len(ready)
    api.take("curves")[2].succeed(curve_set([], "1.worker.9"))
    while any(one[0] == "curves" for one in api.asked):
        names, _, reply = api.take("curves")
        reply.succeed(curve_set(names, "1.worker.9"))
    assert [ready[n][0].cursor for n in range(len(ready))] == ["1.worker.9"]
    opening.stop()
