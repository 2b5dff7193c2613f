"""What `verb_words.py` says of a verb, for help and for the Tab key."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

FLAG = ""
"""An option without a value."""
ANY = "any"
"""A value that cannot be completed here; a shell may offer files."""
RUN, WORKER, SEARCH = "run", "worker", "search"
BETWEEN = "|"
"""A kind that begins with it holds the words that a value may be: `|json|yaml`."""


_NONE: Mapping[str, str] = MappingProxyType({})
_NO_VERBS: "Mapping[str, Words]" = MappingProxyType({})


class Words(NamedTuple):
    """The words of one verb."""

    summary: str
    options: Mapping[str, str] = _NONE
    """Kind of the value behind each option."""
    repeated: Mapping[str, str] = _NONE
    """The same, of options that may be given several times."""
    arguments: tuple[str, ...] = ()
    """Kind of each argument."""
    endless: bool = False
    """Whether the last argument may be repeated."""
    verbs: "Mapping[str, Words]" = _NO_VERBS
    """Verbs of its own."""


def kinds(text: str) -> Mapping[str, str]:
    """Kinds of the values behind options, written in a line: `--json --seed=any`."""
    return dict(word.partition("=")[::2] for word in text.split())
