from collections.abc import Iterator

import pytest
from PyQt6.QtCore import QEvent, QLocale, Qt
from PyQt6.QtTest import QSignalSpy
from PyQt6.QtWidgets import QApplication, QDoubleSpinBox, QPushButton, QSpinBox
from pytestqt.qtbot import QtBot
from tests.specimen import report, run, run_id, summary, worker
from tests.themes import wear

from mosaic_contracts.groups import GroupSpec
from mosaic_contracts.runs import ArtifactRow
from mosaic_contracts.services import WorkerEntries
from mosaic_contracts.states import RunState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.state.agents import Mode
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.state.form_field import FieldKind, Value
from mosaic_gui.theme.tokens import DARK
from mosaic_gui.views.form_field import FieldRow
from mosaic_gui.views.main_window import SETTINGS, TRAIN, TRAINED
from mosaic_gui.views.number_box import NumberBox

LISTS = ("1,2,3", "1 2 3", "1;2", "0,001,5", "12,34,567", "0 001")
"""None of them is one number in any country."""


BY_NIGHT = [
    pytest.param(name, marks=pytest.mark.nightly) for name in ("hi_IN", "de_CH", "fr_FR", "en_US")
]


@pytest.fixture(scope="module", params=["C", "de_DE", *BY_NIGHT])
def client(
    qapp: QApplication, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[DesktopClient]:
    """The client on a desktop of each of these countries, with a form and a trained run.

    All tests of a country share it, and each leaves the fields as it found them.
    """
    QLocale.setDefault(QLocale(request.param))
    wear(qapp, DARK)
    made = DesktopClient(tmp_path_factory.mktemp("home"))
    made.window.resize(1280, 800)
    made.window.show()
    for page in (TRAIN, TRAINED, SETTINGS):
        getattr(made.window, page)  # they are made when they are first wanted
    made.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    entry = worker()
    assert entry.description is not None
    algorithms = [a.model_copy(update={"play": True}) for a in entry.description.algorithms]
    described = entry.description.model_copy(update={"algorithms": algorithms})
    made.agents.set_mode(Mode.AGENT)
    made.launch.preflight_wanted.connect(lambda spec: made.launch.take_report(spec, report()))
    made.launch.take_catalogue(
        WorkerEntries(workers=[entry.model_copy(update={"description": described})])
    )
    trained = run(0, RunState.SUCCEEDED, summary=summary(0, checkpoints=1))
    made._on_tick(made.store.replace_runs([trained]))
    made.trained.take_checkpoints(
        run_id(0), [ArtifactRow(path="checkpoints/a.pt", kind="checkpoint", bytes=1)]
    )
    yield made
    made.launch._settle.stop()
    made.window.close()
    made.window.deleteLater()
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)  # before its models are freed
    QLocale.setDefault(QLocale.c())


@pytest.fixture(autouse=True)
def _asks_nothing(client: DesktopClient) -> Iterator[None]:
    """What was typed into the form is not sent any more when a test has ended."""
    yield
    client.launch._settle.stop()


def number_rows(client: DesktopClient) -> list[FieldRow]:
    """All number fields of the form."""
    kinds = (FieldKind.INTEGER, FieldKind.NUMBER)
    return [row for row in client.window.train.form.rows.values() if row.field.kind in kinds]


def boxes(client: DesktopClient) -> list[NumberBox]:
    """All number fields of the other pages."""
    return client.window.findChildren(NumberBox)


def retype(qtbot: QtBot, box: NumberBox, text: str) -> None:
    """Replace the text of a field by typing."""
    box.setFocus()
    box.selectAll()
    qtbot.keyClick(box, Qt.Key.Key_Backspace)
    qtbot.keyClicks(box, text)


def test_no_number_field_is_left_to_qt(client: DesktopClient) -> None:
    """Qt's own spin boxes read `0,95` as 95 and `1,2,3` as 123 in some locales: there are none."""
    assert boxes(client)
    assert client.window.findChildren(QSpinBox) == []
    assert client.window.findChildren(QDoubleSpinBox) == []


@pytest.mark.parametrize("text", LISTS)
def test_every_field_of_one_number_refuses_a_list(
    qtbot: QtBot, client: DesktopClient, text: str
) -> None:
    """Several numbers in a field of one: the field says so, and Launch stays disabled."""
    client.window.show_page(TRAIN)
    launch = client.window.findChild(QPushButton, "preflight.launch")
    assert launch is not None
    of_one = [row for row in number_rows(client) if not row.field.many]
    assert {"steps", "cpus"} <= {row.field.name for row in of_one}
    for row in of_one:
        before = row.text
        row.set_text(text)
        row.typed.emit(text)
        assert "must be one number" in row._beside.text, row.field.name
        assert not launch.isEnabled(), row.field.name
        row.set_text(before)
        row.typed.emit(before)


def values_to_start(client: DesktopClient, row: FieldRow) -> list[Value]:
    """The values of a field in the runs that Launch would start, each once."""
    draft = client.launch.draft
    assert draft is not None
    group = draft.group()
    specs = [draft.spec()] if group is None else GroupSpec.model_validate(group).specs()
    name, default = row.field.name, row.field.default
    found = [s["seed"] if name == "seed" else s["parameters"].get(name, default) for s in specs]
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("text", ["0,001", *LISTS])
def test_a_field_of_several_numbers_starts_what_it_says(
    qtbot: QtBot, client: DesktopClient, text: str
) -> None:
    """A text is refused, with Launch disabled, or the field says all values that it was read as."""
    client.window.show_page(TRAIN)
    launch = client.window.findChild(QPushButton, "preflight.launch")
    assert launch is not None
    of_several = [row for row in number_rows(client) if row.field.many]
    assert {"seed", "learning_rate", "gamma"} <= {row.field.name for row in of_several}
    for row in of_several:
        before = row.text
        row.set_text(text)
        row.typed.emit(text)
        said = row._beside.text
        if row.input.property("wrong"):
            assert said.startswith(("must be ", "value ", "read as ", "at least ")), row.field.name
            assert not launch.isEnabled(), row.field.name
        else:
            read = ", ".join(row.field.text(value) for value in values_to_start(client, row))
            assert said.startswith(f"Read as {read}."), row.field.name
        row.set_text(before)
        row.typed.emit(before)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0,001", "Read as 0, 1."),
        ("12,34,567", "Read as 12, 34, 567."),
        ("0 001", "must be a whole number, or several: 1-5 or 1,2,3"),
    ],
)
def test_the_seed_says_which_runs_it_starts(
    qtbot: QtBot, client: DesktopClient, text: str, said: str
) -> None:
    """A comma stands between two seeds, in every locale; a space does not."""
    client.window.show_page(TRAIN)
    row = next(row for row in number_rows(client) if row.field.name == "seed")
    before = row.text
    row.set_text(text)
    row.typed.emit(text)
    assert row._beside.text.startswith(said)
    row.set_text(before)
    row.typed.emit(before)


def test_a_decimal_comma_is_read_and_shown(qtbot: QtBot, client: DesktopClient) -> None:
    """`0,001` is 0.001 in every locale, and the form says what it has read."""
    client.window.show_page(TRAIN)
    row = client.window.train.form.rows[("parameters", "learning_rate")]
    row.input.setFocus()
    row.input.selectAll()  # type: ignore[attr-defined]
    qtbot.keyClicks(row.input, "0,001")
    assert row._beside.text.startswith("Read as 0.001.")
    assert client.launch.draft is not None
    assert client.launch.draft.spec()["parameters"] == {"learning_rate": 0.001}


def test_every_other_number_field_refuses_a_list(qtbot: QtBot, client: DesktopClient) -> None:
    """Settings and the page of trained runs keep the text, say what is wrong, and keep their value."""
    for page in (SETTINGS, TRAINED):
        client.window.show_page(page)
        shown = [box for box in boxes(client) if box.isVisible()]
        assert shown, page
        for box in shown:
            value = box.value()
            for text in LISTS:
                retype(qtbot, box, text)
                client.window._stack.setFocus()
                assert (box.text(), box.value()) == (text, value)
                assert "must be one number" in box.fault
            box.setValue(value)
            assert box.fault == ""


def test_nothing_is_played_with_a_number_that_was_refused(
    qtbot: QtBot, client: DesktopClient
) -> None:
    """Play is disabled and names the field while one of its numbers is none."""
    client.window.show_page(TRAINED)
    page = client.window.trained
    wanted = QSignalSpy(client.trained.play_wanted)
    assert page.play.isEnabled()
    retype(qtbot, page.seed, "1,2,3")
    assert not page.play.isEnabled()
    assert page._why.text().startswith("Seed: must be one number")
    page._play()
    assert len(wanted) == 0
    retype(qtbot, page.seed, "1,200")
    assert page.play.isEnabled()
    qtbot.mouseClick(page.play, Qt.MouseButton.LeftButton)
    assert wanted[0][2]["seed"] == 1200


def test_a_setting_takes_a_decimal_comma(qtbot: QtBot, client: DesktopClient) -> None:
    """The setting changes when the field is left, and arrows step within its bounds."""
    client.window.show_page(SETTINGS)
    box = client.window.settings.fields["smoothing"]
    assert isinstance(box, NumberBox)
    retype(qtbot, box, "0,95")
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert client.preferences.settings.smoothing == 0.95
    qtbot.keyClick(box, Qt.Key.Key_Up)
    assert (client.preferences.settings.smoothing, box.text()) == (0.999, "0.999")
    qtbot.keyClick(box, Qt.Key.Key_Down)
    assert box.text() == "0.949"
    retype(qtbot, box, "95")
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert client.preferences.settings.smoothing == 0.949
    assert box.fault == "at most 0.999"
