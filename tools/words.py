"""`./mosaic words [LANGUAGE | FILE.po ...]`: the texts of the window for those who translate them.

Finds every text in the code, brings each translation up to date with it, says what is wrong or missing, and compiles
it. Without arguments: every translation that the client comes with. A new language begins with its code, e.g. `de`.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from string import Formatter

from babel import Locale, UnknownLocaleError
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import PoFileError, read_po, write_po

SOURCES = Path(__file__).resolve().parent.parent / "gui" / "src" / "mosaic_gui"
TRANSLATIONS = SOURCES / "translations"
KEYWORDS = {"tr": None, "tr_n": (1, 2), "tr_as": ((1, "c"), 2), "mark": None}
"""Functions of `mosaic_gui.state.language` and which of their arguments are texts."""
NOTE_TO_TRANSLATORS = "tr:"
WIDTH = 100


def template(sources: Path = SOURCES) -> Catalog:
    """Every text in the code, with where it stands and what is said of it to translators."""
    found = Catalog(project="MOSAIC", charset="utf-8", fuzzy=False)
    # Babel complains of every f-string that is filled into a text, which is what they are for; one that should be a
    # text itself is refused by `./mosaic imports`
    with redirect_stderr(StringIO()):
        for name, line, text, notes, meaning in extract_from_dir(
            sources,
            method_map=[("**.py", "python")],
            keywords=KEYWORDS,
            comment_tags=[NOTE_TO_TRANSLATORS],
            strip_comment_tags=True,
        ):
            found.add(text, None, [(name, line)], auto_comments=notes, context=meaning)
    return found


def update(path: Path, texts: Catalog) -> Catalog:
    """Bring a translation up to date with the code and write it; made where there is none.

    Raises:
        ValueError: it cannot be read, or its name is no language.
    """
    try:
        Locale.parse(path.stem)
        if path.exists():
            with path.open("rb") as file:
                known = read_po(file, locale=path.stem, abort_invalid=True)
        else:
            known = Catalog(locale=path.stem, project="MOSAIC", charset="utf-8", fuzzy=False)
    except (PoFileError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    except (UnknownLocaleError, ValueError) as error:
        raise ValueError(
            f"{path.stem!r} is no language. Name one by its code, e.g. de or pt_BR."
        ) from error
    known.update(texts)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        # without line numbers: else every change of the code would be one of the translation
        write_po(file, known, width=WIDTH, sort_by_file=True, include_lineno=False)
    return known


def compile_to(path: Path, known: Catalog) -> None:
    """Write the file that the client reads, next to the translation."""
    with path.with_suffix(".mo").open("wb") as file:
        write_mo(file, known)


def faults(known: Catalog) -> Iterator[str]:
    """Translations that name what their text does not have, or that no program can fill in."""
    for message in known:
        if message.id and not message.fuzzy:
            allowed = set[str]().union(*(names_in(text) for text in _texts(message.id)))
            for said in _texts(message.string):
                try:
                    foreign = names_in(said) - allowed
                except ValueError as error:
                    yield f"{said!r}: {error}"
                    continue
                if foreign:
                    yield f"{said!r} names {{{sorted(foreign)[0]}}}, which the text does not have"


def names_in(text: str) -> set[str]:
    """What is filled in. Raises ValueError: braces that do not fit."""
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def missing(known: Catalog) -> int:
    """Texts that nobody has translated, or that changed since."""
    return sum(1 for message in known if message.id and not _is_done(message))


def _is_done(message: Message) -> bool:
    return not message.fuzzy and all(_texts(message.string))


def _texts(told: str | list[str] | tuple[str, ...] | None) -> tuple[str, ...]:
    return (told or "",) if isinstance(told, str | None) else tuple(told)


def main(arguments: list[str]) -> int:
    """Update what is named, or everything; 1 when something in it is wrong."""
    named = [place_of(argument) for argument in arguments]
    texts, is_wrong = template(), False
    for path in named or sorted(TRANSLATIONS.glob("*.po")):
        try:
            known = update(path, texts)
        except ValueError as error:
            print(error)
            is_wrong = True
            continue
        compile_to(path, known)
        found = list(faults(known))
        for fault in found:
            print(f"{path}: {fault}")
        is_wrong = is_wrong or bool(found)
        print(f"{path}: {len(texts) - missing(known)} of {len(texts)} texts are translated")
    if not named:
        print(f"{len(texts)} texts in the code")
    return 1 if is_wrong else 0


def place_of(argument: str) -> Path:
    """The file of a language that the client comes with, or the one that is named."""
    if re.fullmatch(r"[a-z]{2,3}(_[A-Za-z]+)*", argument):
        return TRANSLATIONS / f"{argument}.po"
    return Path(argument).absolute()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
