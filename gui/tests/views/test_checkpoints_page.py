"""The page of checkpoints over a session that answers when a test says so."""

from collections.abc import Iterator
from typing import Any, cast

import pytest
from PyQt6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PyQt6.QtGui import QDropEvent
from PyQt6.QtTest import QSignalSpy
from PyQt6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tests.checkpoint_specimen import checkpoint, checkpoints, evaluated, reward_curve
from tests.controllers.test_run_actions import FakeSession
from tests.specimen import run, run_id, summary, worker

from mosaic_contracts.checkpoints import CheckpointPage
from mosaic_contracts.problems import Problem, ProblemCode
from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.states import RunState
from mosaic_gui.controllers.checkpoint_browser import CheckpointBrowserController
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.reply import ApiProblem, ApiReply
from mosaic_gui.state.checkpoint_list import CheckpointAddress
from mosaic_gui.state.store import Changes
from mosaic_gui.viewmodels.checkpoint_cards import FIRST_SHOWN, GroupHeading, MoreCards
from mosaic_gui.viewmodels.checkpoints import CheckpointsModel, ImportQuestion
from mosaic_gui.views.checkpoints_page import CheckpointsPage
from mosaic_gui.views.import_popup import ImportPopup

KEY = Qt.Key
LEFT = Qt.MouseButton.LeftButton


def able() -> WorkerEntry:
    """CleanRL, whose checkpoints act and begin trainings."""
    data = worker().model_dump(mode="json")
    for algorithm in data["description"]["algorithms"]:
        algorithm |= {"play": True, "warm_start": True, "resumes": False}
        algorithm["parameters"]["properties"]["checkpoint"] = {
            "type": "string",
            "x-checkpoint": True,
        }
    return WorkerEntry.model_validate(data)


class Shown:
    """The page, what it asks for, and what it says."""

    def __init__(self) -> None:
        self.session = FakeSession()
        self.model = CheckpointsModel(self.session.store)
        self.notices: list[str] = []
        self.browser = CheckpointBrowserController(
            self.model, lambda text, _act, _then: self.notices.append(text)
        )
        self.browser.session = cast(StreamSession, self.session)
        self.model.take_workers([able()])
        runs = [run(n, RunState.SUCCEEDED, summary=summary(n, checkpoints=1)) for n in range(6)]
        self.tick(self.session.store.replace_runs(runs))
        self.page = CheckpointsPage(self.model)
        self.page.resize(1000, 700)

    def tick(self, changes: Changes) -> None:
        """The store has changed."""
        self.browser.consume(changes)

    def asked(self, name: str) -> list[tuple[Any, ...]]:
        """Arguments of all requests of a kind."""
        return [args for asked, args in self.session.api.asked if asked == name]

    def reply(self, name: str) -> ApiReply:
        """The newest request of a kind."""
        found = [n for n, (asked, _) in enumerate(self.session.api.asked) if asked == name]
        return self.session.api.replies[found[-1]]

    def answer(self, rows: list[Any], cursor: str | None = None) -> None:
        """Answer the newest request for a page."""
        page = CheckpointPage(checkpoints=rows, next_cursor=cursor)
        self.reply("checkpoints").succeed(page)

    @property
    def current(self) -> object:
        """The current entry."""
        return self.model.cards.entries[self.page.cards.currentIndex().row()]


@pytest.fixture
def shown(qtbot: QtBot) -> Iterator[Shown]:
    """The page in sight, with its first request under way."""
    made = Shown()
    qtbot.addWidget(made.page)
    made.page.show()
    made.page.activateWindow()
    qtbot.waitUntil(made.page.isActiveWindow)
    yield made
    made.browser.detach()


def test_pages_are_read_one_after_the_other_and_shown_as_they_come(shown: Shown) -> None:
    """The first page is shown at once; before it nobody says that there is nothing."""
    assert shown.asked("checkpoints") == [(None, 60)]
    assert shown.page._words.text() == "Reading the checkpoints …"
    rows = checkpoints()
    shown.answer(rows[:2], "next")
    assert shown.page._stack.currentWidget() is shown.page._filled
    assert shown.asked("checkpoints")[-1] == ("next", 500)
    shown.answer(rows[2:])
    assert shown.page._count.text() == "6 checkpoints"
    titles = [e.title for e in shown.model.cards.entries if isinstance(e, GroupHeading)]
    assert titles == ["CartPole-v1 · dqn", "CartPole-v1 · ppo"]
    assert len(shown.asked("checkpoints")) == 2


def test_the_chosen_card_is_marked_and_stays_in_sight(shown: Shown) -> None:
    """The first one at first; another order, a lower window and an import lead to it."""
    rows = [checkpoint(n, mean_return_20=float(n)) for n in range(20)]
    shown.answer(rows)
    cards, model = shown.page.cards, shown.model

    def is_seen() -> bool:
        at = cards.visualRect(cards.currentIndex())
        assert shown.current is model.row
        return cards.viewport().rect().contains(at)  # type: ignore[union-attr]

    assert model.chosen == (run_id(19), "checkpoints/final.pt")
    assert is_seen()
    last = cards.model().rowCount() - 1  # type: ignore[union-attr]
    cards.setCurrentIndex(model.cards.index(last, 0))
    assert is_seen()
    shown.page.resize(700, 420)
    QApplication.processEvents()
    assert is_seen()
    shown.page.order.setCurrentIndex(1)
    shown.page.order.activated.emit(1)
    assert is_seen()
    model.expect(run_id(30))
    model.take_runs([run_id(30)], [checkpoint(30, mean_return_20=500.0)])
    assert model.chosen == (run_id(30), "checkpoints/final.pt")
    assert is_seen()


def test_without_a_checkpoint_the_page_says_how_to_get_one(qtbot: QtBot, shown: Shown) -> None:
    """And leads there."""
    wanted = QSignalSpy(shown.page.train_wanted)
    shown.answer([])
    assert shown.page._stack.currentWidget() is shown.page._empty
    button = shown.page.findChild(type(shown.page.check), "checkpoints.first")
    qtbot.mouseClick(button, LEFT)
    assert len(wanted) == 1


def test_a_list_that_cannot_be_read_says_why_and_is_tried_again(qtbot: QtBot, shown: Shown) -> None:
    """What was read before would stay."""
    shown.reply("checkpoints").fail(ApiProblem("The store is locked."))
    assert "The store is locked." in shown.page._words.text()
    qtbot.mouseClick(shown.page._again, LEFT)
    shown.answer(checkpoints())
    assert shown.page._stack.currentWidget() is shown.page._filled
    shown.browser._on_failed(ApiProblem("gone"))
    assert shown.page._stack.currentWidget() is shown.page._filled
    assert shown.page._progress.whole() == "The list could not be read. gone"


def test_keys_search_choose_and_play(qtbot: QtBot, shown: Shown) -> None:
    """/ searches, arrows lead to the cards and between them, Return plays, or folds a heading."""
    shown.answer(checkpoints())
    plays = QSignalSpy(shown.model.play_wanted)
    cards = shown.page.cards
    cards.setFocus()
    qtbot.keyClick(cards, "/")
    assert QApplication.focusWidget() is shown.page.search
    qtbot.keyClicks(shown.page.search, "ppo best")
    assert [row.run_id for row in shown.model.shown_rows] == [run_id(3)]
    qtbot.keyClick(shown.page.search, KEY.Key_Return)
    assert (plays[0][0].run_id, plays[0][1]) == (run_id(3), "checkpoints/best.pt")
    shown.page.search.clear()
    qtbot.keyClick(shown.page.search, KEY.Key_Down)
    assert QApplication.focusWidget() is cards
    qtbot.keyClick(cards, KEY.Key_Home)
    assert isinstance(shown.current, GroupHeading)
    entries = len(shown.model.cards.entries)
    qtbot.keyClick(cards, KEY.Key_Return)
    assert len(shown.model.cards.entries) == entries - 1
    qtbot.keyClick(cards, KEY.Key_Return)
    qtbot.keyClick(cards, KEY.Key_Right)
    assert shown.model.chosen == (run_id(5), "checkpoints/best.pt")
    qtbot.keyClick(cards, KEY.Key_End)
    assert shown.model.chosen == (run_id(2), "checkpoints/final.pt")
    qtbot.keyClick(cards, KEY.Key_Return)
    assert len(plays) == 1  # its file is missing


def test_a_large_group_shows_more_on_request(qtbot: QtBot, shown: Shown) -> None:
    """So that the next group is not thousands of cards away."""
    shown.answer([checkpoint(0, f"checkpoints/{n:03}.pt") for n in range(FIRST_SHOWN + 10)])
    cards = shown.page.cards
    assert isinstance(shown.model.cards.entries[-1], MoreCards)
    cards.setFocus()
    qtbot.keyClick(cards, KEY.Key_End)
    qtbot.keyClick(cards, KEY.Key_Return)
    assert len(shown.model.cards.entries) == 1 + FIRST_SHOWN + 10
    assert shown.model.chosen is not None


def test_a_click_on_a_heading_folds_and_a_double_click_on_a_card_plays(
    qtbot: QtBot, shown: Shown
) -> None:
    """As in a list of groups."""
    shown.answer(checkpoints())
    cards, plays = shown.page.cards, QSignalSpy(shown.model.play_wanted)

    def centre(number: int) -> QPoint:
        return cards.visualRect(shown.model.cards.index(number, 0)).center()

    qtbot.mouseDClick(cards.viewport(), LEFT, pos=centre(1))
    assert len(plays) == 1
    entries = len(shown.model.cards.entries)
    qtbot.mouseClick(cards.viewport(), LEFT, pos=centre(0))
    assert len(shown.model.cards.entries) == entries - 1
    qtbot.mouseClick(cards.viewport(), LEFT, pos=centre(0))
    assert len(shown.model.cards.entries) == entries


def test_a_run_that_saves_another_checkpoint_is_read_again(qtbot: QtBot, shown: Shown) -> None:
    """That run alone, once the changes have settled; the newest mark moves."""
    shown.answer(checkpoints())
    more = run(4, RunState.SUCCEEDED, revision=2, summary=summary(4, checkpoints=2))
    shown.tick(shown.session.store.take_runs([more]))
    qtbot.waitUntil(lambda: len(shown.asked("checkpoints")) == 2)
    assert shown.asked("checkpoints")[-1] == (None, 500, [run_id(4)])
    shown.answer([checkpoint(4, "checkpoints/2.pt", t=2e9, marks=["newest"]), evaluated(4)])
    assert shown.model.total == 7
    shown.tick(shown.session.store.take_runs([more.model_copy(update={"revision": 3})]))
    assert not shown.browser._settle.isActive()


def test_a_deleted_run_takes_its_cards_along(qtbot: QtBot, shown: Shown) -> None:
    """Where a mark went with it, another checkpoint has it now, and the list is read."""
    shown.answer(checkpoints())
    shown.tick(shown.session.store.forget_runs([run_id(3)]))
    assert shown.model.total == 5
    qtbot.waitUntil(lambda: len(shown.asked("checkpoints")) == 2)
    assert shown.asked("checkpoints")[-1] == (None, 60)


def test_hashes_are_compared_one_after_the_other_and_the_rest_can_be_cancelled(
    qtbot: QtBot, shown: Shown
) -> None:
    """Progress, the state of each file, and a summary."""
    shown.answer(checkpoints())
    qtbot.mouseClick(shown.page.check, LEFT)
    assert shown.asked("verify_checkpoints") == [(run_id(5), "checkpoints/best.pt")]
    assert (shown.page._bar.value(), shown.page._bar.maximum()) == (0, 3)
    shown.reply("verify_checkpoints").succeed([checkpoint(5, "checkpoints/best.pt")])
    assert shown.page._bar.value() == 1
    shown.reply("verify_checkpoints").succeed([checkpoint(4, state="altered")])
    shown.model.choose(CheckpointAddress(run_id(4), "checkpoints/final.pt"))
    assert "its hash is not" in shown.page.side._file.text()
    cancel = shown.page.findChild(type(shown.page.check), "checkpoints.cancel")
    qtbot.mouseClick(cancel, LEFT)
    assert not shown.page._strip.isVisible()
    assert shown.notices == ["Cancelled; 2 checkpoints were compared."]
    qtbot.mouseClick(shown.page.side.check, LEFT)
    shown.reply("verify_checkpoints").succeed([checkpoint(4)])
    assert shown.notices[-1] == "1 checkpoint compared with its recorded hash."
    assert "Verified" in shown.page.side._file.text()


def test_trends_are_read_for_cards_in_sight_alone(qtbot: QtBot, shown: Shown) -> None:
    """Two at once; one that has none is not asked for again."""
    rows = [checkpoint(n, environment=f"World{n:03}-v0") for n in range(200)]
    shown.answer(rows)
    qtbot.waitUntil(lambda: len(shown.asked("curves")) == 2)
    shown.session.api.replies[-2].succeed(reward_curve(199))
    shown.session.api.replies[-1].fail(ApiProblem("away"))
    qtbot.waitUntil(lambda: len(shown.asked("curves")) >= 4)
    asked = [args[0] for args in shown.asked("curves")]
    assert asked[:2] == [run_id(199), run_id(198)]
    assert len(set(asked)) == len(asked)
    assert len(shown.browser._trends) < 20


def test_an_evaluation_is_shown_on_its_card_until_its_result_is_there(
    qtbot: QtBot, shown: Shown
) -> None:
    """The page stays; the run's checkpoints are read again at the end, and a failure is said."""
    shown.answer(checkpoints())
    shown.model.choose(CheckpointAddress(run_id(3), "checkpoints/best.pt"))
    qtbot.mouseClick(shown.page.side.evaluate, LEFT)
    fields = {"kind": "evaluate", "episodes": 20, "seed": 1}
    assert shown.asked("play_run") == [(run_id(3), "checkpoints/best.pt", fields)]
    spec = {
        "kind": "evaluate",
        "parent": run_id(3),
        "episodes": 20,
        "parameters": {"checkpoint": f"{run_id(3)}/checkpoints/best.pt"},
    }
    begun = run(60, RunState.RUNNING, spec=spec)
    shown.reply("play_run").succeed(begun)
    assert "20 episodes" in shown.notices[-1]
    shown.tick(Changes(runs=frozenset({begun.run_id})))
    assert shown.model.chosen is not None
    assert shown.model.is_evaluated(shown.model.chosen)
    ended = run(60, RunState.FAILED, revision=2, spec=spec)
    shown.tick(shown.session.store.take_runs([ended]))
    assert not shown.model.is_evaluated(shown.model.chosen)
    assert shown.notices[-1].startswith("The evaluation has no result:")
    qtbot.waitUntil(lambda: shown.asked("checkpoints")[-1] == (None, 500, [run_id(3)]))


def test_a_refused_evaluation_is_said(qtbot: QtBot, shown: Shown) -> None:
    """In the stack's words."""
    shown.answer(checkpoints())
    qtbot.mouseClick(shown.page.side.evaluate, LEFT)
    problem = Problem(code=ProblemCode.SPEC_INVALID, title="It does not fit")
    shown.reply("play_run").fail(ApiProblem("It does not fit.", problem))
    assert shown.notices == ["It does not fit."]


def test_what_cannot_be_done_says_why(shown: Shown) -> None:
    """A missing file, and a worker that does not offer it."""
    shown.answer(checkpoints())
    side = shown.page.side
    assert side.play.isEnabled()
    assert "warm start" in side._why.text()
    shown.model.choose(CheckpointAddress(run_id(2), "checkpoints/final.pt"))
    assert not side.play.isEnabled()
    assert side.play.toolTip().startswith("Missing")
    assert side.run.isEnabled()
    shown.model.choose(CheckpointAddress(run_id(3), "checkpoints/best.pt"))
    shown.model.take_workers([worker()])
    assert not side.train.isEnabled()
    assert "can begin with a checkpoint" in side.train.toolTip()


def test_a_file_that_says_too_little_is_asked_about(qtbot: QtBot, shown: Shown) -> None:
    """The popup has the refusal, and what was typed goes along with the next try."""
    shown.answer(checkpoints())
    wanted = QSignalSpy(shown.model.import_wanted)
    shown.model.ask(ImportQuestion("/a/dqn.cleanrl_model", "Name the algorithm.", {}))
    popup = QApplication.activePopupWidget()
    assert isinstance(popup, ImportPopup)
    qtbot.keyClicks(popup.fields["algorithm"], "dqn")
    qtbot.keyClick(popup.fields["algorithm"], KEY.Key_Return)
    assert wanted[0] == ["/a/dqn.cleanrl_model", {"algorithm": "dqn"}]


def test_a_dropped_file_is_imported(shown: Shown) -> None:
    """One file of this machine; nothing else is taken."""
    wanted = QSignalSpy(shown.model.import_wanted)
    for urls in (["file:///a/best.zip"], ["https://web/best.zip"], []):
        data = QMimeData()
        data.setUrls([QUrl(url) for url in urls])
        left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        shown.page.dropEvent(QDropEvent(QPointF(), Qt.DropAction.CopyAction, data, left, none))
    assert (len(wanted), wanted[0]) == (1, ["/a/best.zip", {}])


def test_commands_are_copied(qtbot: QtBot, shown: Shown) -> None:
    """The menu of a card has everything that its buttons do."""
    shown.answer(checkpoints())
    said = QSignalSpy(shown.model.said)
    shown.page.side.show_menu(QPoint(10, 10))
    menu = QApplication.activePopupWidget()
    assert menu is not None
    texts = {action.text(): action for action in menu.actions()}
    assert {"Play", "Evaluate", "Train on", "Show the run", "Verify", "Compare", "Export"} < set(
        texts
    )
    texts["Copy command: Play"].trigger()
    clipboard = QApplication.clipboard()
    assert clipboard is not None
    assert clipboard.text() == f"./mosaic play {run_id(5)} checkpoints/best.pt"
    assert said[0] == [f"Copied: {clipboard.text()}"]
    menu.close()


def test_a_checkpoint_is_pinned_and_unpinned(qtbot: QtBot, shown: Shown) -> None:
    """Others of its run that are pinned stay so; a pin that came from elsewhere is shown."""
    shown.answer(checkpoints())
    side, path = shown.page.side, "checkpoints/best.pt"
    shown.model.choose(CheckpointAddress(run_id(3), path))
    shown.tick(shown.session.store.take_runs([run(3, revision=2, pinned_files=["other.pt"])]))
    assert side.pin.text() == "Pin"
    qtbot.mouseClick(side.pin, LEFT)
    assert shown.asked("patch_run")[-1] == (run_id(3), {"pinned_files": ["other.pt", path]})
    both = run(3, revision=3, pinned_files=["other.pt", path])
    shown.tick(shown.session.store.take_runs([both]))
    assert side.pin.text() == "Unpin"
    qtbot.mouseClick(side.pin, LEFT)
    assert shown.asked("patch_run")[-1] == (run_id(3), {"pinned_files": ["other.pt"]})
    shown.model.choose(CheckpointAddress(run_id(2), "checkpoints/final.pt"))
    assert side.pin.text() == "Pin"
    assert not side.pin.isEnabled()
