"""Translation: every text of the client goes through one of these functions.

Texts are whole sentences, found by `./mosaic words`; what varies in them is named in braces and filled in after the
translation, so that a translator may move it. Texts of the stack, a worker or a run are data and stay as they came.
"""

import gettext
from typing import NewType

Mark = NewType("Mark", str)
"""A text that is shown later, in the language of that moment."""

NONE = gettext.NullTranslations()
"""English, as in the code."""
IN_CHECKOUT = "./mosaic"
"""The command line's name in texts as they are in the code."""
_used = NONE
_program = IN_CHECKOUT


def use(translations: gettext.NullTranslations) -> None:
    """Set the language of all following texts."""
    global _used
    _used = translations


def use_program(name: str) -> None:
    """Set the name of the command line in all following texts: `mosaic` where it was installed."""
    global _program
    _program = name


def program_name() -> str:
    """Name of the command line, for commands that are no texts."""
    return _program


def tr(text: str, **values: object) -> str:
    """A text in the user's language. It must be a literal in the call, so that translators find it."""
    return _filled(_used.gettext(text), text, values)


def tr_n(one: str, many: str, n: int, **values: object) -> str:
    """As `tr`, in the form that the language has for `n` things; `{n}` is the number, with separators."""
    values["n"] = grouped(n)
    return _filled(_used.ngettext(one, many, n), one if n == 1 else many, values)


def tr_as(meaning: str, text: str, **values: object) -> str:
    """As `tr`, for a word with several meanings: `meaning` says which, to the translator alone."""
    return _filled(_used.pgettext(meaning, text), text, values)


def grouped(n: int) -> str:
    """A number with what the language puts between thousands. The decimal point is one in every language: numbers are
    typed, copied and compared with logs, specs and files, which have it."""
    # tr: one of comma, space or apostrophe; never a point
    separator = tr_as("between thousands", ",")
    return f"{n:,}".replace(",", separator)


def mark(text: str) -> Mark:
    """The text as it is, found by who translates: for tables that are made before the language is known."""
    return Mark(text)


def tr_mark(text: Mark, **values: object) -> str:
    """As `tr`, for a text that was marked where it stands. Nothing stays nothing."""
    return _filled(_used.gettext(text), text, values) if text else ""


def _filled(said: str, english: str, values: dict[str, object]) -> str:
    said = said.replace(IN_CHECKOUT, _program)
    if not values:
        return said
    try:
        return said.format(**values)
    except (KeyError, IndexError, ValueError):
        # a translation that names what is not there; `./mosaic words` refuses it, and a file from elsewhere may have it
        return english.format(**values)
