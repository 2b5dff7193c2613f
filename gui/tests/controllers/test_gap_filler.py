from collections.abc import Iterator

import pytest
from PyQt6.QtTest import QSignalSpy
from pytestqt.qtbot import QtBot
from tests.specimen import metrics, run, run_id, summary

from mosaic_contracts.live import Ended, Missed, RunChanged
from mosaic_contracts.runs import RunView, SourceMark
from mosaic_gui.controllers import gap_filler as healing_module
from mosaic_gui.controllers.gap_filler import GapFiller
from mosaic_gui.net.reply import ApiReply
from mosaic_gui.state.store import Store

RUN = run_id(0)
MISSED = Missed(run_id=RUN, count=7, from_cursor="", to_cursor="1.worker.7")


class Asked:
    """An ApiClient that is asked for one run; a real gateway answers in test_hardship.py."""

    def __init__(self) -> None:
        self.replies: list[ApiReply] = []

    def run(self, _run_id: str) -> ApiReply:
        self.replies.append(ApiReply())
        return self.replies[-1]


class Healed:
    """The part, with the runs that it opened again."""

    def __init__(self) -> None:
        self.store, self.api, self.opened = Store(), Asked(), list[str]()
        self.store.replace_runs([run(0)])
        self.store.follow(RUN)
        self.filler = GapFiller(self.store, self.api, self.opened.append, self._take)  # type: ignore[arg-type]

    def has(self, last: int, following: int | None = None, missing: int = 0) -> RunView:
        """The run's record when the store is so far."""
        mark = SourceMark(
            attempt=1,
            source="worker",
            last_seq=last,
            next_seq=following or last + 1,
            missing=missing,
        )
        return run(0, summary=summary(sources=[mark]))

    def see(self, record: RunView) -> None:
        """Such a record comes live."""
        self.filler.look(self.store.apply(RunChanged(run=record)).runs)

    def miss(self) -> None:
        """The gateway passes something over."""
        self.store.apply(MISSED)
        self.filler.miss(MISSED)

    def _take(self, record: object) -> None:
        assert isinstance(record, RunView)
        self.filler.look(self.store.take_runs([record]).runs)


@pytest.fixture
def net(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> Iterator[Healed]:
    """One followed run."""
    monkeypatch.setattr(healing_module, "LOOK_MS", 20)
    made = Healed()
    yield made
    made.filler.stop()


def test_a_run_is_opened_again_when_the_store_has_skipped_events(net: Healed) -> None:
    """Not before, for it would have the gap still, and only once."""
    net.miss()
    for last in (0, 0, 7, 8, 9):
        assert net.opened == ([] if last < 8 else [RUN])
        net.see(net.has(last))


def test_it_is_requested_where_nothing_is_reported(qtbot: QtBot, net: Healed) -> None:
    """A run that does not move sends no record by itself, so it is asked for; once it is whole nobody asks any more."""
    net.miss()
    # a second request may follow before the first one is seen here
    qtbot.waitUntil(lambda: bool(net.api.replies))
    for reply in net.api.replies:
        reply.succeed(net.has(7))
    assert net.opened == [RUN]
    qtbot.waitUntil(lambda: not net.filler._timer.isActive())


def test_what_is_filled_bit_by_bit_is_not_read_at_every_bit(qtbot: QtBot, net: Healed) -> None:
    """While a large hole is filled, the run is opened again at most once a look."""
    net.store.apply(metrics(1, "m", [1.0] * 90))
    for following in range(11, 30):
        net.see(net.has(90, following, 40 - following))
    assert net.opened == []
    looks = QSignalSpy(net.filler._timer.timeout)
    qtbot.waitUntil(lambda: len(looks) >= 2)
    assert net.opened == [RUN]


def test_the_end_of_a_run_closes_what_was_open(net: Healed) -> None:
    """All that there will ever be of it is stored then: it is read once more, and not again and again."""
    net.miss()
    net.store.apply(Ended(run_id=RUN, cursor="1.worker.9"))
    net.filler.end(RUN)
    net.filler.end(RUN)
    net.see(net.has(9))
    assert net.opened == [RUN]
