"""What `./mosaic words` finds and what it does to a translation."""

import ast
import gettext
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po

import words


def written(folder: Path, code: str) -> Path:
    """A folder of sources with one file."""
    folder.mkdir(exist_ok=True)
    (folder / "page.py").write_text(code, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def texts() -> Catalog:
    """Every text of the client, read once, for that takes a second. The tests only look at it."""
    return words.template()


def test_every_text_of_the_client_is_found(texts: Catalog) -> None:
    """What the code asks to be translated, read as a syntax tree, is what a translator gets."""
    found = {
        (message.context, text)
        for message in texts
        if message.id
        for text in ((message.id,) if isinstance(message.id, str) else message.id[:1])
    }
    asked = set()
    for path in words.SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = (
                node.func.id
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
                else ""
            )
            if isinstance(node, ast.Call) and name in words.KEYWORDS:
                told = [
                    argument.value for argument in node.args if isinstance(argument, ast.Constant)
                ]
                asked.add((told[0], told[1]) if name == "tr_as" else (None, told[0]))
    assert len(asked) > 400
    assert asked == found


def test_a_translation_keeps_what_was_translated(tmp_path: Path) -> None:
    """A changed text is marked for review, a new one is empty, and what stayed is as it was."""
    path = tmp_path / "de.po"
    code = 'tr("Stop")\ntr_n("{n} run", "{n} runs", 2)\n'
    words.update(path, words.template(written(tmp_path / "src", code)))
    text = path.read_text("utf-8")
    text = text.replace('msgid "Stop"\nmsgstr ""', 'msgid "Stop"\nmsgstr "Anhalten"')
    path.write_text(text.replace('msgstr[0] ""', 'msgstr[0] "{n} Lauf"'), encoding="utf-8")
    known = words.update(path, words.template(written(tmp_path / "src", code + 'tr("Play")\n')))
    assert known["Stop"].string == "Anhalten"
    assert words.missing(known) == 2  # the second plural form, and what is new
    with path.open("rb") as file:
        assert read_po(file)["Play"].string == ""


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("« {run} »", ""),
        ("«»", ""),
        ("« {lauf} »", "names {lauf}"),
        ("« {run »", "expected '}'"),
    ],
)
def test_a_translation_that_cannot_be_filled_in_is_refused(
    tmp_path: Path, said: str, fault: str
) -> None:
    """Names in braces are the text's own; a translator learns it here and no user at all."""
    known = words.template(written(tmp_path / "src", 'tr("{run} is gone", run=1)\n'))
    known["{run} is gone"].string = said
    found = list(words.faults(known))
    assert (fault in found[0]) if fault else found == []


def test_what_is_compiled_is_what_the_client_reads(tmp_path: Path) -> None:
    """The file next to the translation says it with the plural forms of its language."""
    path = tmp_path / "ru.po"
    known = words.update(
        path, words.template(written(tmp_path / "src", 'tr_n("{n} run", "{n} runs", 2)\n'))
    )
    known["{n} run"].string = ("{n} запуск", "{n} запуска", "{n} запусков")
    words.compile_to(path, known)
    with path.with_suffix(".mo").open("rb") as file:
        said = gettext.GNUTranslations(file)
    assert [said.ngettext("{n} run", "{n} runs", n)[4:] for n in (1, 2, 5)] == [
        "запуск",
        "запуска",
        "запусков",
    ]


def test_a_name_that_is_no_language_is_refused(
    tmp_path: Path,
    texts: Catalog,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is written under it."""
    monkeypatch.setattr(words, "template", lambda: texts)
    path = tmp_path / "klingon.po"
    assert words.main([str(path)]) == 1
    assert "is no language" in capsys.readouterr().out
    assert not path.exists()


@pytest.mark.parametrize(
    "path", sorted(words.TRANSLATIONS.glob("*.po")), ids=lambda path: path.stem
)
def test_translations_that_come_with_the_client_are_sound(path: Path) -> None:
    """Each can be filled in, and what is compiled is what it contains."""
    with path.open("rb") as file:
        known = read_po(file, locale=path.stem)
    assert list(words.faults(known)) == []
    with path.with_suffix(".mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    for message in known:
        if message.id and isinstance(message.id, str) and message.string and not message.fuzzy:
            said = (
                compiled.pgettext(message.context, message.id)
                if message.context
                else compiled.gettext(message.id)
            )
            assert said == message.string
