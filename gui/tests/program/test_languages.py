"""Which language the window speaks, and what becomes of a file that is none."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from PyQt6.QtCore import QCoreApplication, QLocale
from PyQt6.QtWidgets import QApplication
from tests.pseudo import CODE, write_pseudo

from mosaic_gui.program import languages
from mosaic_gui.program.languages import name_of_program
from mosaic_gui.state import language, wording
from mosaic_gui.state.language import tr, tr_as, tr_n
from mosaic_gui.state.settings import entries

UNDO = ("QWidgetTextControl", "&Undo")


@pytest.fixture(autouse=True)
def _english(qapp: QApplication) -> Iterator[None]:
    """Whatever was spoken, English is afterwards."""
    yield
    languages.speak(qapp, languages.ENGLISH, {})


def write(
    folder: Path, code: str, *texts: tuple[str | tuple[str, str], str | tuple[str, ...]]
) -> Path:
    """A compiled translation; a text with a meaning is a pair of both."""
    known = Catalog(locale=code, fuzzy=False)
    for text, said in texts:
        if isinstance(said, tuple):
            known.add(text, said)
        elif isinstance(text, tuple):
            known.add(text[1], said, context=text[0])
        else:
            known.add(text, said)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{code}.mo").open("wb") as file:
        write_mo(file, known)
    return folder


@pytest.mark.parametrize(
    ("wanted", "system", "code"),
    [
        ("system", ["de-AT", "de"], "de"),
        ("system", ["pt-BR", "pt"], "pt_BR"),
        ("system", ["fr-FR", "fr", "de"], "de"),
        ("system", ["en-US", "de"], "en"),
        ("system", ["ja-JP"], "en"),
        ("de", ["ja-JP"], "de"),
        ("en", ["de"], "en"),
        ("ja", ["de"], "en"),
    ],
)
def test_the_language_is_what_was_chosen_else_the_desktops(
    wanted: str, system: list[str], code: str
) -> None:
    """English stands where nothing fits, and where the desktop wants it before what is there."""
    found = {"de": Path("de.mo"), "pt_BR": Path("pt_BR.mo")}
    assert languages.choose(wanted, found, system) == code


def test_a_translation_of_the_user_is_spoken(qapp: QApplication, tmp_path: Path) -> None:
    """With its own plural forms, its separator of thousands, and in Qt's own menus; the decimal point stays."""
    write(
        tmp_path / languages.FOLDER,
        "ru",
        ("Stop", "Стоп"),
        (("{n} run", "{n} runs"), ("{n} запуск", "{n} запуска", "{n} запусков")),
        (("between thousands", ","), " "),
    )
    found = languages.find_languages(tmp_path)
    assert languages.names(found)["ru"] == "русский"
    assert languages.speak(qapp, "ru", found) == ""
    assert tr("Stop") == "Стоп"
    assert [tr_n("{n} run", "{n} runs", n) for n in (1, 3, 1005)] == [
        "1 запуск",
        "3 запуска",
        "1 005 запусков",
    ]
    assert (wording.count(12_500), wording.number(0.25)) == ("12 500", "0.25")
    assert QLocale().toString(0.25) == "0.25"
    assert QCoreApplication.translate(*UNDO) == "&Отменить действие"
    languages.speak(qapp, languages.ENGLISH, found)
    assert (tr("Stop"), QCoreApplication.translate(*UNDO)) == ("Stop", "&Undo")


def test_a_file_that_is_no_translation_is_reported(qapp: QApplication, tmp_path: Path) -> None:
    """A damaged file, and one that is gone: the window speaks English and says why."""
    folder = tmp_path / languages.FOLDER
    folder.mkdir()
    (folder / "de.mo").write_bytes(b"no translation at all")
    assert "de.mo is not a translation" in languages.speak(
        qapp, "de", languages.find_languages(tmp_path)
    )
    assert tr("Stop") == "Stop"
    assert "no translation for fr" in languages.speak(qapp, "fr", {})


def test_a_translation_that_cannot_be_filled_in_is_english(
    qapp: QApplication, tmp_path: Path
) -> None:
    """`./mosaic words` refuses such a one; a file from elsewhere must not end the program."""
    folder = write(tmp_path / languages.FOLDER, "de", ("{run} is gone", "{lauf} kaputt"))
    languages.speak(qapp, "de", languages.find_languages(folder.parent))
    assert tr("{run} is gone", run="a") == "a is gone"


def test_every_text_has_the_language_that_is_spoken(qapp: QApplication, tmp_path: Path) -> None:
    """All that is found in the code is read back, with its meaning and its plural."""
    texts = write_pseudo(tmp_path / languages.FOLDER)
    languages.speak(qapp, CODE, languages.find_languages(tmp_path))
    assert tr_n("{n} run", "{n} runs", 2) == "‹2 runs›"
    assert tr_as("between thousands", ",") == ","
    assert tr("Stop at the next safe point and save a checkpoint").startswith("‹Stop at")
    assert len(texts) > 500
    language.use(language.NONE)


def test_languages_to_choose_from_have_their_own_names() -> None:
    """A user who cannot read the window finds a language that he can read."""
    known = {entry.name: entry for entry in entries({"de": "Deutsch"})}
    assert dict(known["language"].choices) == {"system": "as the system", "de": "Deutsch"}


@pytest.mark.parametrize(
    ("program", "root", "name"),
    [
        ("/checkout/mosaic", "/checkout", "./mosaic"),
        ("/home/a/.local/bin/mosaic", "/tools/mosaic_cli/_tree", "mosaic"),
        (None, None, "./mosaic"),
    ],
)
def test_texts_name_the_command_line_as_the_user_calls_it(
    monkeypatch: pytest.MonkeyPatch, program: str | None, root: str | None, name: str
) -> None:
    """An installed `mosaic` is not called `./mosaic`, which a user outside a checkout could not run."""
    environ = {"MOSAIC_PROGRAM": program, "MOSAIC_ROOT": root}
    assert name_of_program({k: v for k, v in environ.items() if v is not None}) == name
    monkeypatch.setattr(language, "_program", name)
    assert (
        tr("`./mosaic doctor` says what the worker lacks.")
        == f"`{name} doctor` says what the worker lacks."
    )
