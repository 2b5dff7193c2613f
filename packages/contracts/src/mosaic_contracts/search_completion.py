"""Completion of a search of the run list: keys, values and parameters for the term that is being written.

Pure, without pydantic: the window and the Tab key of the command line use it.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from mosaic_contracts.choices import RecordLevel, RunKind
from mosaic_contracts.run_search import short_parameter
from mosaic_contracts.search_words import (
    ALIASES,
    ENDED,
    KEYS,
    LIVE,
    METRIC,
    METRIC_FIGURES,
    NUMBER_KEYS,
    PARAMETER,
    STORED_KEYS,
    TEXT_KEYS,
)
from mosaic_contracts.states import EndCause, RunState

_MOST_VALUES = 30
_OPERATORS = (">=", "<=", "!=", ":", "=", ">", "<")
_CHOICES: dict[str, Sequence[str]] = {
    "state": (*(state.value for state in RunState), LIVE, ENDED),
    "kind": tuple(kind.value for kind in RunKind),
    "cause": tuple(cause.value for cause in EndCause),
    "record": tuple(level.value for level in RecordLevel),
    "since": ("1h", "1d", "7d", "30d"),
    "until": ("1h", "1d", "7d", "30d"),
}


_OTHER_WORDS = (
    *ALIASES.items(),
    *((word, "since") for word in ("created", "after", "date", "age", "days", "week", "today")),
    ("before", "until"),
)
"""Words that are typed for a key, and the key; two letters of them are needed."""


class SearchVocabulary(NamedTuple):
    """What the runs of a list have, to complete a search with.

    Attributes:
        values: values by key (`env`, `algo`, `worker`, `tag`, `group`) and by name of a parameter.
        parameters: names of parameters.
        metrics: names of metrics.
    """

    values: Mapping[str, Sequence[str]]
    parameters: Sequence[str] = ()
    metrics: Sequence[str] = ()


def vocabulary_of_values(
    values: Iterable[tuple[str, str]],
    parameters: Collection[str],
    metrics: Sequence[str] = (),
) -> SearchVocabulary:
    """Return what runs have, the most frequent values of each key first.

    Args:
        values: key and value, once for each run that has it; the name of a parameter is a key, too.
        parameters: names of parameters.
        metrics: names of metrics.

    Returns:
        The vocabulary, with at most 30 values of each key.
    """
    counted: dict[str, Counter[str]] = {}
    for key, value in values:
        counted.setdefault(key, Counter())[value] += 1
    common = {
        key: [value for value, _ in found.most_common(_MOST_VALUES)]
        for key, found in counted.items()
    }
    return SearchVocabulary(common, sorted(parameters), list(metrics))


class SearchCompletion(NamedTuple):
    """One way to go on with a search.

    Attributes:
        text: the whole term.
        help: what it means; empty for a value.
        start: position of the first character that `text` takes the place of.
        end: position after the last one.
    """

    text: str
    help: str
    start: int
    end: int

    def apply(self, search: str) -> tuple[str, int]:
        """Return the search with this completion, and where the cursor stands then.

        Args:
            search: the search as it was written.

        Returns:
            The new search, and the position after the term. A value is followed by a space.
        """
        whole = self.text if self.text.endswith((":", ">", ".")) else f"{self.text} "
        rest = search[self.end :]
        return f"{search[: self.start]}{whole}{rest.removeprefix(' ')}", self.start + len(whole)


def complete_term(
    search: str, place: int, vocabulary: SearchVocabulary, most: int = 50
) -> list[SearchCompletion]:
    """Complete the term of a search that ends at the cursor.

    Args:
        search: the search as far as it is written.
        place: position of the cursor.
        vocabulary: what the runs of the list have.
        most: number of completions.

    Returns:
        Keys, or values behind a key. None if nothing fits, or if the term is complete already.
    """
    start = _start_of_term(search, place)
    term = search[start:place]
    minus = "-" if term.startswith("-") else ""
    body = term.removeprefix("-")
    found: Iterable[tuple[str, str]]
    key, operator, value = _split(body)
    if operator:
        head, comma, last = value.rpartition(",")
        before = f"{minus}{key}{operator}{head}{comma}"
        found = (
            (f"{before}{_quoted(one)}", "") for one in _values(key, operator, last, vocabulary)
        )
    else:
        found = ((f"{minus}{word}", words) for word, words in _keys(body, vocabulary))
    made = [SearchCompletion(text, words, start, place) for text, words in found if text != term]
    return made[:most]


def needs_vocabulary(search: str, place: int) -> bool:
    """Return whether the completion of a term depends on the runs: states and kinds are the same everywhere.

    Args:
        search: the search as far as it is written.
        place: position of the cursor.
    """
    term = search[_start_of_term(search, place) : place]
    key, operator, _ = _split(term.removeprefix("-"))
    return not operator or ALIASES.get(key, key) not in _CHOICES


def _start_of_term(search: str, place: int) -> int:
    start, is_quoted = 0, False
    for number, sign in enumerate(search[:place]):
        if sign == '"':
            is_quoted = not is_quoted
        elif sign.isspace() and not is_quoted:
            start = number + 1
    return start


def _split(term: str) -> tuple[str, str, str]:
    places = [(term.find(op), -len(op), op) for op in _OPERATORS if op in term]
    if not places:
        return term, "", ""
    place, _, operator = min(places)
    return term[:place], operator, term[place + len(operator) :]


def _keys(beginning: str, vocabulary: SearchVocabulary) -> list[tuple[str, str]]:
    low = beginning.casefold()
    if low.startswith(METRIC):
        return _metric_keys(beginning, vocabulary)
    known = [
        *((f"{key}:", KEYS[key]) for key in TEXT_KEYS),
        *((f"{key}>", KEYS[key]) for key in (*STORED_KEYS, "took")),
        *((f"{key}:", KEYS[key]) for key in KEYS if key not in {*TEXT_KEYS, *STORED_KEYS, "took"}),
    ]
    parameters = [
        (f"{_parameter_key(name)}:", name if short_parameter(name) != name else "Parameter.")
        for name in vocabulary.parameters
    ]
    metrics = [(METRIC, "A metric, e.g. m.losses/entropy<0.1.")]
    whole = [*known, *parameters, *metrics]
    if not low:
        return whole
    begins = [one for one in whole if one[0].casefold().startswith(low)]
    if len(low) > 1:
        meant = {key for word, key in _OTHER_WORDS if word.startswith(low)}
        begins += [one for one in known if one[0][:-1] in meant and one not in begins]
    inside = [
        (f"{_parameter_key(name)}:", name)
        for name in vocabulary.parameters
        if low in name.casefold() and not _parameter_key(name).casefold().startswith(low)
    ]
    return [*begins, *inside]


def _parameter_key(name: str) -> str:
    """A parameter as a key: its short name, marked where the name is a key of its own."""
    short = short_parameter(name)
    is_taken = short in KEYS or short in ALIASES
    return f"{PARAMETER}{name}" if is_taken else short


def _metric_keys(beginning: str, vocabulary: SearchVocabulary) -> list[tuple[str, str]]:
    word = beginning.removeprefix(METRIC).casefold()
    for name in vocabulary.metrics:
        if word.startswith(f"{name.casefold()}."):
            return [
                (f"{METRIC}{name}.{figure}>", "")
                for figure in METRIC_FIGURES
                if figure.startswith(word[len(name) + 1 :])
            ]
    return [
        (f"{METRIC}{name}>", "Newest value.")
        for name in vocabulary.metrics
        if word in name.casefold()
    ]


def _values(key: str, operator: str, beginning: str, vocabulary: SearchVocabulary) -> Sequence[str]:
    name = ALIASES.get(key, key).removeprefix(PARAMETER)
    if name in _CHOICES:
        known = _CHOICES[name]
    elif name in STORED_KEYS or name in NUMBER_KEYS or operator in (">", ">=", "<", "<="):
        return []
    else:
        names = [name, *(long for long in vocabulary.parameters if short_parameter(long) == name)]
        known = next((vocabulary.values[one] for one in names if one in vocabulary.values), ())
    low = beginning.strip('"').casefold()
    begins = [one for one in known if one.casefold().startswith(low)]
    return [*begins, *(one for one in known if low and low in one.casefold() and one not in begins)]


def _quoted(value: str) -> str:
    return f'"{value}"' if " " in value or "," in value else value
