"""Nothing that the window says goes past translation, and a longer language fits into it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from PyQt6.QtCore import QPointF
from PyQt6.QtGui import QPainter
from PyQt6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tests.controllers.test_run_actions import FakeSession
from tests.looks.spoken_popups import POPUPS
from tests.looks.spoken_views import VIEWS, show_mind
from tests.looks.spoken_window import FAILED, LIVE, REPORT, URL, Spoken, machine, runs, workers
from tests.looks.test_looks import clipped_texts
from tests.pseudo import CODE, strings_in, untranslated, write_pseudo
from tests.specimen import run, run_id

from mosaic_contracts.live import Missed
from mosaic_contracts.runs import RunEnd
from mosaic_contracts.services import WorkerEntries
from mosaic_contracts.spec import RecordLevel, RestartPolicy
from mosaic_contracts.states import EndCause, RunState, StopStep
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.app.parts import KEPT_IN
from mosaic_gui.controllers.preferences import PreferenceStore
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.download import unwritable
from mosaic_gui.program import languages
from mosaic_gui.state.agents import Mode
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.state.diagnosis import Trouble, diagnose, version_words
from mosaic_gui.state.failure_summary import failure_summary
from mosaic_gui.state.run_details import details
from mosaic_gui.state.settings import Settings
from mosaic_gui.viewmodels.run_table import Column, tool_tip
from mosaic_gui.views.main_window import (
    RUNS,
)
from mosaic_gui.views.settings_page import SettingsPage
from mosaic_gui.views.text import BUTTON_PADDING


@pytest.fixture(scope="module")
def spoken(qapp: QApplication, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spoken]:
    """The client at the smallest size that is promised, with a run in every state and two workers."""
    home = tmp_path_factory.mktemp("home")
    write_pseudo(home / KEPT_IN / languages.FOLDER)
    found = languages.find_languages(home / KEPT_IN)
    assert languages.speak(qapp, CODE, found) == ""
    client = DesktopClient(home, PreferenceStore(None), languages.names(found))
    client.window.resize(1280, 800)
    client.window.show()
    made = Spoken(client)
    client.connection.take(ConnectionStatus(LinkState.LIVE, URL))
    client.hardware.take(made.given(machine()))
    client.launch.preflight_wanted.connect(lambda spec: client.launch.take_report(spec, REPORT))
    made.given(REPORT)
    made.given(
        [policy.value for policy in RestartPolicy]
    )  # words of a spec, the same on the command line
    client.launch.take_catalogue(WorkerEntries(workers=made.given(workers())))
    client.agents.set_mode(Mode.AGENT)
    client.table.consume(client.store.replace_runs(made.given(runs())))
    yield made
    client.launch._settle.stop()
    client.window.close()
    client.window.deleteLater()
    languages.speak(qapp, languages.ENGLISH, {})


@pytest.fixture(autouse=True)
def _as_before(spoken: Spoken) -> Iterator[None]:
    """Each view begins from a live connection with figures of this moment, and leaves nothing behind."""
    client = spoken.client
    client.hardware.take(machine())
    yield
    client.connection.take_start(False)
    client.connection.take(ConnectionStatus(LinkState.LIVE, URL))
    client.window.runs.grouping.setChecked(False)
    client.agents.set_mode(Mode.AGENT)
    client.watch.files.take_end("a.pt")
    client.watch.files.take_end("b.pt")
    client.comparison.is_training = client.comparison.is_running = False
    client.launch._settle.stop()
    client.sweep_form.close()
    client.window.notices.clear()
    client.window.show_page(RUNS)


@pytest.mark.nightly(
    by_day=[
        "empty_trash",
        "runs",
        "watched",
        "replay",
        "form",
        "checkpoints",
        "settings",
        "ends",
    ]
)
@pytest.mark.parametrize("show", VIEWS, ids=lambda show: show.__name__.removeprefix("show_"))
def test_every_view_speaks_the_language(spoken: Spoken, show: Callable[[Spoken], None]) -> None:
    """All that can be read, pointed at or heard in it is translated or is data from elsewhere; nothing is cut."""
    show(spoken)
    spoken.client.window.watch.charts.redraw()
    QApplication.processEvents()
    assert spoken.english() == {}
    assert clipped_texts(spoken.client.window, BUTTON_PADDING) == []


@pytest.mark.nightly(by_day=["palette", "columns", "run_menu", "import"])
@pytest.mark.parametrize("show", POPUPS, ids=lambda show: show.__name__.removeprefix("open_"))
def test_every_popup_speaks_the_language(spoken: Spoken, show: Callable[[Spoken], None]) -> None:
    """The same of what opens for a moment."""
    show(spoken)
    found = spoken.english()
    while (popup := QApplication.activePopupWidget()) is not None:
        popup.close()
    assert found == {}


def test_notices_speak_the_language(spoken: Spoken, monkeypatch: pytest.MonkeyPatch) -> None:
    """What happened, and what was refused, in the bar below."""
    client, reported = spoken.client, list[str]()
    monkeypatch.setattr(
        client.window.notices, "say", lambda text, *more: reported.extend((text, more[0]))
    )
    session = FakeSession(client.store)
    client.run_actions.session = cast(StreamSession, session)
    client.run_actions.stop([run_id(LIVE)])
    client.run_actions.delete([run_id(FAILED), run_id(23)])
    client.run_actions.session = None
    client.layouts.save("Train")
    client.layouts.save("mine")
    client.layouts.remove("mine")
    client.layouts._set_movable(True)
    client.layouts._set_movable(False)
    missed = Missed(run_id=run_id(LIVE), count=7, from_cursor="", to_cursor="1.worker.7")
    spoken.tick(client.store.apply(missed))
    client.navigator.edit_copy(run_id(LIVE))
    for path in ("a", "b"):
        failed = unwritable(Path(path), OSError(28, "full"))
        client.downloads._on_failed(Path(path), lambda: None, failed)
    data = strings_in(*spoken.reported, "full", "mine")
    assert len(reported) > 12
    assert {text: rest for text in reported if (rest := untranslated(text, data))} == {}


def test_what_is_painted_speaks_the_language(
    spoken: Spoken, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lanes of a mind, cells of a world, rows of the list: what no widget has as its text."""
    painted: list[str] = []
    draw = QPainter.drawText

    def heard(painter: QPainter, *args: Any) -> Any:
        painted.extend(argument for argument in args if isinstance(argument, str))
        return draw(painter, *args)

    monkeypatch.setattr(QPainter, "drawText", heard)
    show_mind(spoken)
    panel = spoken.client.window.watch.beliefs
    panel.timeline.grab()
    panel.policy.grab()
    centre = QPointF(panel.timeline.rect().center())
    painted += [panel.timeline.words_at(centre), panel.policy.words_at(QPointF(20, 20))]
    data = strings_in(*spoken.reported)
    assert len(painted) > 8
    assert {text: rest for text in painted if (rest := untranslated(text, data))} == {}


def ends() -> Iterator[RunEnd]:
    """Everything that a run can end of, with words of each kind of fault."""
    faults = (
        "Torch not compiled with CUDA enabled",
        "CUDA out of memory",
        "No module named 'box2d'",
        "can't open file 'a.py'",
        "expected loss, found nan",
        "No space left on device",
        "ValueError: gamma must be below 1",
        "",
    )
    for cause in EndCause:
        for step in (None, *StopStep):
            for fault in faults:
                yield RunEnd(
                    cause=cause,
                    message="m",
                    exit_code=1,
                    signal=9,
                    stop_step=step,
                    last_lines=[fault],
                )


def words_of_state(spoken: Spoken) -> Iterator[str]:
    """What is said of ends, addresses and versions."""
    arguments = {
        "cuda": True,
        "gamma": 1.0,
        "learning_rate": 0.1,
        "buffer_size": 64,
        "script": "a.py",
    }
    limits = {"wall_time_s": 5, "memory_mb": 64, "gpus": 1}
    for end in ends():
        ended = run(0, RunState.FAILED, end=end, spec=limits)
        card = failure_summary(ended, arguments)
        assert card is not None
        yield from (card.title, *card.advice, *(fix.label for fix in card.fixes))
        yield from (text for fact in card.facts for text in fact)
    for trouble in Trouble:
        for is_local in (True, False):
            found = diagnose(trouble, URL, is_local=is_local)
            yield from (found.headline, found.todo)
    yield version_words("2.0", "1.0")
    yield version_words("1.0", "2.0")
    for run_of in spoken.client.store.runs.values():
        yield from (tool_tip(run_of, column) or "" for column in Column)
        yield from (text for row in details(run_of, {}) for text in row)


def test_every_cause_and_every_trouble_has_words(spoken: Spoken) -> None:
    """Advice, fixes and headlines are translated, whichever of them comes."""
    names = ("gamma", "learning_rate", "buffer_size", "a.py", "SIGKILL", "127.0.0.1:1", "cleanrl")
    data = strings_in(*spoken.reported, names, [one.value for one in RecordLevel])
    found = {text: rest for text in words_of_state(spoken) if (rest := untranslated(text, data))}
    assert found == {}


def test_what_is_not_translated_is_found(spoken: Spoken, qapp: QApplication, qtbot: QtBot) -> None:
    """The test of these tests: in English nearly everything would be reported."""
    languages.speak(qapp, languages.ENGLISH, {})
    made = SettingsPage(Settings(), "file")
    qtbot.addWidget(made)
    reported = spoken.english(made)
    folder = spoken.client.home / KEPT_IN
    languages.speak(qapp, CODE, languages.find_languages(folder))
    assert len(reported) > 12
    assert any("Smoothing" in where for where in reported)
