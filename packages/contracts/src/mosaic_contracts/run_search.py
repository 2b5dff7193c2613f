"""Search language of the run list: `lr>=1e-3 best>400 state:failed tag:ablation env:CartPole* -tag:old`.

A search is a row of terms that a run must all fulfil. `parse_search` reads it once; an error points at the word.
Without pydantic: the command line, the services and the window use it.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from enum import Enum, auto
from operator import attrgetter
from typing import Any, NamedTuple

from mosaic_contracts.choices import RecordLevel, RunKind
from mosaic_contracts.marked_error import MarkedError
from mosaic_contracts.search_words import (
    ALIASES,
    ENDED,
    KEYS,
    LIVE,
    METRIC,
    METRIC_FIGURES,
    NUMBER_KEYS,
    PARAMETER,
    SHORT_PARAMETERS,
    STORED_KEYS,
    TEXT_KEYS,
    TIME_KEYS,
)
from mosaic_contracts.states import EndCause, RunState, shown_state

MAX_SEARCH = 1000
"""Characters of a search."""
_WORD = re.compile(r'\s*(-?)((?:[^\s"]|"[^"]*")+|")')
_TERM = re.compile(r"([A-Za-z_][^:<>=!\"\s]*?)(>=|<=|!=|:|=|>|<)(.*)", re.DOTALL)
_VALUE = re.compile(r'"([^"]*)"|([^",]+)|(,)')
_FACTORS = {"k": 1e3, "m": 1e6, "g": 1e9}
_NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)([kmg]?)", re.IGNORECASE)
_DURATION = re.compile(r"(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?:in)?)?(?:(\d+(?:\.\d+)?)s)?")
_UNITS_S = (7 * 86400.0, 86400.0, 3600.0, 60.0, 1.0)
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
}
_CHOICES: dict[str, tuple[str, ...]] = {
    "state": (*(state.value for state in RunState), LIVE, ENDED),
    "kind": tuple(kind.value for kind in RunKind),
    "cause": tuple(cause.value for cause in EndCause),
    "record": tuple(level.value for level in RecordLevel),
}
"""Keys whose values are known beforehand."""
_IN_PART = ("name", "note", "group")
_BEGINNING = ("id", "parent")
_FIELDS = {"env": "environment", "algo": "algorithm", "id": "run_id"}
"""Fields of `RunFacts` that have another name than their key."""

ParameterValue = bool | int | float | str | None


class SearchError(MarkedError):
    """A search that cannot be understood."""


class TermSource(Enum):
    """Where the value of a term comes from."""

    RECORD = auto()
    PARAMETER = auto()
    STORE = auto()
    METRIC = auto()


class Term(NamedTuple):
    """One condition."""

    source: TermSource
    key: str
    """Canonical key, name of the parameter or metric; empty: text in name, id, note or tag."""
    figure: str
    """Figure of a metric; empty for all else."""
    op: str
    """`:` (any of the values), `>`, `>=`, `<` or `<=`."""
    values: tuple[str, ...]
    negated: bool
    start: int
    end: int


class RunFacts(NamedTuple):
    """What a search looks at in a run's record."""

    run_id: str
    state: str
    """As lists show it: a run that waits in the queue of its engine is `queued`."""
    worker: str
    algorithm: str
    environment: str
    kind: str
    name: str
    note: str
    tags: tuple[str, ...]
    seed: int
    parent: str
    group: str
    """Id and name of its group, or id of its sweep."""
    cause: str
    record: str
    priority: int
    cpus: int
    gpus: int
    created_t: float
    """Seconds since the epoch."""
    took_s: float | None
    parameters: Mapping[str, ParameterValue]


class StoredFacts(NamedTuple):
    """What a search looks at in the store. None: the run has no such value."""

    steps: float = 0
    episodes: float = 0
    last: float | None = None
    best: float | None = None
    mean: float | None = None


class MetricFigures(NamedTuple):
    """Figures of one metric of a run: newest value, and lowest, highest and mean finite value."""

    last: float
    min: float | None
    max: float | None
    mean: float | None

    def figure(self, name: str) -> float | None:
        """One of METRIC_FIGURES."""
        if name == "last":
            return self.last
        if name == "mean":
            return self.mean
        return self.min if name == "min" else self.max


def facts_of(run: Mapping[str, Any]) -> RunFacts:
    """Return what a search looks at in a run.

    Args:
        run: its record as a JSON object (`RunRecord`).

    Returns:
        The facts.
    """
    spec, end, group = run["spec"], run.get("end"), run.get("group")
    words = spec.get("parent") or "" if run.get("trial") is not None else ""
    if group is not None:
        words = f"{group['group_id']} {group['name']}"
    return RunFacts(
        run_id=run["run_id"],
        state=shown_state(RunState(run["state"]), run.get("started_at")).value,
        worker=spec["worker"],
        algorithm=spec["algorithm"],
        environment=spec["environment"],
        kind=spec.get("kind", RunKind.TRAIN.value),
        name=run["name"],
        note=run.get("note", ""),
        tags=tuple(run.get("tags", ())),
        seed=spec.get("seed", 1),
        parent=spec.get("parent") or "",
        group=words,
        cause="" if end is None else end["cause"],
        record=spec.get("record", RecordLevel.REPLAY.value),
        priority=run.get("priority", 0),
        cpus=spec.get("cpus", 1),
        gpus=spec.get("gpus", 0),
        created_t=datetime.fromisoformat(run["created_at"].replace("Z", "+00:00")).timestamp(),
        took_s=run.get("elapsed_s"),
        parameters={**run.get("defaults", {}), **spec.get("parameters", {})},
    )


class RunSearch:
    """A search that was understood.

    Attributes:
        text: as it was written.
        terms: its conditions; a run must fulfil all of them.
    """

    def __init__(self, text: str, terms: tuple[Term, ...]) -> None:
        self.text = text
        self.terms = terms

    def __bool__(self) -> bool:
        return bool(self.terms)

    def of(self, *sources: TermSource) -> "RunSearch":
        """Return the part whose values come from some sources.

        Args:
            *sources: where the values come from.

        Returns:
            A search of these terms alone.
        """
        return RunSearch(self.text, tuple(term for term in self.terms if term.source in sources))

    @property
    def of_record(self) -> "RunSearch":
        """The part that needs the run's record alone."""
        return self.of(TermSource.RECORD, TermSource.PARAMETER)

    @property
    def of_store(self) -> "RunSearch":
        """The part that needs the store."""
        return self.of(TermSource.STORE, TermSource.METRIC)

    @property
    def metrics(self) -> set[str]:
        """Names of metrics as they were written."""
        return {term.key for term in self.terms if term.source is TermSource.METRIC}

    def with_parameters(self, known: Collection[str], *, strict: bool = True) -> "RunSearch":
        """Replace the words for parameters by their names.

        Args:
            known: names of all parameters of all runs.
            strict: whether a word that is not clear is an error. False: it is left as it is, and no run has it.

        Returns:
            A search with whole names.

        Raises:
            SearchError: a word is no parameter, or several have this ending.
        """
        terms = (
            term._replace(key=_named_parameter(self.text, term, known, strict))
            if term.source is TermSource.PARAMETER
            else term
            for term in self.terms
        )
        return RunSearch(self.text, tuple(terms))

    def record_test(self, now: float) -> Callable[[RunFacts], bool]:
        """Return a test of a run's record, for the terms that need nothing else.

        Args:
            now: the present, in seconds since the epoch.

        Returns:
            A function that returns whether a run fulfils these terms. Parameters must have their whole names.
        """
        return _all([_record_test(term, now) for term in self.of_record.terms])

    def store_test(self) -> Callable[[StoredFacts, Mapping[str, MetricFigures]], bool]:
        """Return a test of what the store has, for the terms that need it.

        Returns:
            A function that takes the facts, and figures by metric as it was written in the search.
        """
        tests = [_store_test(term) for term in self.of_store.terms]
        return lambda stored, metrics: all(test(stored, metrics) for test in tests)


def parse_search(text: str) -> RunSearch:
    """Read a search.

    Args:
        text: terms, separated by spaces.

    Returns:
        The search; without terms if the text is empty.

    Raises:
        SearchError: a term cannot be understood.
    """
    if len(text) > MAX_SEARCH:
        raise SearchError(
            text, MAX_SEARCH, len(text), f"a search has up to {MAX_SEARCH} characters"
        )
    terms: list[Term] = []
    place = 0
    while place < len(text.rstrip()):
        match = _WORD.match(text, place)
        if match is None:  # a quote that is never closed, behind other characters
            raise _no_end(text, place)
        sign, word = match.groups()
        start, place = match.start(1), match.end()
        if word == '"' or (place < len(text) and text[place] == '"'):
            raise _no_end(text, match.start(2))
        terms.append(_parse_term(text, word, bool(sign), start, place))
    return RunSearch(text, tuple(terms))


def short_parameter(name: str) -> str:
    """Return the short name of a parameter, as it is shown.

    Args:
        name: its name.

    Returns:
        The name that people in the field use, or `name` itself.
    """
    return SHORT_PARAMETERS.get(name, name)


def find_parameter(word: str, known: Collection[str]) -> list[str]:
    """Find the parameters that a word means.

    Args:
        word: a name, a short name, or the end of a name after `_`, `.` or `-`.
        known: names of parameters.

    Returns:
        One name where the word is clear; several that end so; or none.
    """
    if word in known:
        return [word]
    usual = [name for name, short in SHORT_PARAMETERS.items() if short == word and name in known]
    if usual:
        return usual
    ends = tuple(f"{mark}{word}" for mark in "_.-")
    return sorted(name for name in known if name.endswith(ends))


def find_metric(word: str, known: Iterable[str]) -> list[str]:
    """Find the metrics that a word means.

    Args:
        word: a name, or the end of a name after `/`.
        known: names of metrics.

    Returns:
        The name itself, or all that end so.
    """
    names = set(known)
    if word in names:
        return [word]
    return sorted(name for name in names if name.endswith(f"/{word}"))


def _parse_term(text: str, word: str, negated: bool, start: int, end: int) -> Term:
    match = _TERM.fullmatch(word)
    if match is None:
        return Term(TermSource.RECORD, "", "", ":", (word.replace('"', ""),), negated, start, end)
    key, op, rest = match.groups()

    def wrong(reason: str) -> SearchError:
        return SearchError(text, start, end, reason)

    if op in ("!=", "="):
        negated, op = negated != (op == "!="), ":"
    values = _values(rest)
    if not values:
        raise wrong(f"a value is missing; write for example {key}{op}{_example(key)}")
    source, name, figure = _key(key)
    if not name:
        raise wrong(
            "a name is missing after the dot; write for example p.gamma or m.losses/entropy"
        )
    term = Term(source, name, figure, op, values, negated, start, end)
    fault = _fault(term, key)
    if fault:
        raise wrong(fault)
    return term


def _values(text: str) -> tuple[str, ...]:
    """The values between commas; a comma in quotes belongs to its value."""
    values, last = list[str](), ""
    for quoted, plain, comma in _VALUE.findall(text):
        if comma:
            values.append(last)
            last = ""
        else:
            last += quoted or plain
    return tuple(value for value in (*values, last) if value)


def _key(key: str) -> tuple[TermSource, str, str]:
    if key.startswith(PARAMETER):
        return TermSource.PARAMETER, key.removeprefix(PARAMETER), ""
    if key.startswith(METRIC):
        name, dot, figure = key.removeprefix(METRIC).rpartition(".")
        if dot and figure in METRIC_FIGURES:
            return TermSource.METRIC, name, figure
        return TermSource.METRIC, key.removeprefix(METRIC), METRIC_FIGURES[0]
    name = ALIASES.get(key, key)
    if name in STORED_KEYS:
        return TermSource.STORE, name, ""
    return (TermSource.RECORD if name in KEYS else TermSource.PARAMETER), name, ""


def _fault(term: Term, key: str) -> str:
    """What is wrong with the values of a term; empty: nothing."""
    if term.source is TermSource.RECORD and term.key in TIME_KEYS:
        if term.op != ":":
            return f"{key} takes a colon; write {key}:2d"
        if _moment_of(term.values[0], 0.0) is None or len(term.values) > 1:
            return f"write a time such as {key}:90m, {key}:2d or {key}:2026-01-31"
        return ""
    if term.source is TermSource.RECORD and term.key in TEXT_KEYS:
        if term.op != ":":
            return f"{key} is text; write {key}:{term.values[0]}"
        return _unknown_choice(term)
    compares = term.source in (TermSource.STORE, TermSource.METRIC) or term.key in NUMBER_KEYS
    for value in term.values:
        if not compares and term.op == ":":
            continue  # a parameter may be text
        is_range = term.op == ":" and ".." in value
        ends = value.split("..", 1) if is_range else [value]
        if any(_number_of(term, end) is None for end in ends if end or not is_range):
            what = "duration" if term.key == "took" else "number"
            return f"{value!r} is no {what}; write for example {key}{term.op}{_example(key)}"
    if term.op != ":" and len(term.values) > 1:
        return f"{term.op} takes one value"
    return ""


def _unknown_choice(term: Term) -> str:
    known = _CHOICES.get(term.key, ())
    for value in term.values:
        if known and not _is_pattern(value) and value.casefold() not in known:
            return f"there is no {term.key} {value!r}. {_nearest(value, known)}"
    return ""


def _named_parameter(text: str, term: Term, known: Collection[str], strict: bool) -> str:
    found = find_parameter(term.key, known)
    if len(found) == 1:
        return found[0]
    if not strict or not known:
        return term.key
    if found:
        names = ", ".join(found[:6])
        reason = f"several parameters end so: {names}. Write one of them in full"
    else:
        word = text[term.start : term.end]
        reason = (
            f"there is no key or parameter {term.key!r}. {_nearest(term.key, [*KEYS, *known])} "
            f'For text with such a sign, write "{word.replace(chr(34), "")}"'
        )
    raise SearchError(text, term.start, term.end, reason)


def _nearest(word: str, known: Collection[str]) -> str:
    import difflib  # slow to import, and needed after a mistake only

    near = difflib.get_close_matches(word.casefold(), known, n=1, cutoff=0.5)
    if near:
        return f"Did you mean {near[0]}?"
    names = list(known)
    more = " and more" if len(names) > 12 else ""
    return f"There are {', '.join(names[:12])}{more}."


def _record_test(term: Term, now: float) -> Callable[[RunFacts], bool]:
    test = _parameter_test(term) if term.source is TermSource.PARAMETER else _field_test(term, now)
    return (lambda run: not test(run)) if term.negated else test


def _field_test(term: Term, now: float) -> Callable[[RunFacts], bool]:
    key = term.key
    if not key:
        text = term.values[0].casefold()
        return lambda run: any(
            text in one.casefold() for one in (run.name, run.run_id, run.note, *run.tags)
        )
    if key in TIME_KEYS:
        moment = _moment_of(term.values[0], now) or 0.0
        if key == "since":
            return lambda run: run.created_t >= moment
        return lambda run: run.created_t < moment
    if key in NUMBER_KEYS:
        holds = _number_test(term)
        number = attrgetter("took_s" if key == "took" else key)
        return lambda run: holds(number(run))
    fits = _text_test(term)
    if key == "tag":
        return lambda run: any(fits(tag) for tag in run.tags)
    field = attrgetter(_FIELDS.get(key, key))
    return lambda run: fits(field(run))


def _text_test(term: Term) -> Callable[[str], bool]:
    values = {value.casefold() for value in term.values}
    if term.key == "state":
        for word, is_final in ((LIVE, False), (ENDED, True)):
            if word in values:
                values |= {state.value for state in RunState if state.is_final is is_final}
    patterns = [_pattern(value) for value in values if _is_pattern(value)]
    plain = [value for value in values if not _is_pattern(value)]
    if term.key in _IN_PART:
        return lambda text: _in_part(text.casefold(), plain, patterns)
    if term.key in _BEGINNING:
        begins = tuple(plain)
        return lambda text: text.casefold().startswith(begins) if begins else _any(patterns, text)
    if not patterns:
        return lambda text: text.casefold() in values
    return lambda text: text.casefold() in values or _any(patterns, text)


def _in_part(text: str, plain: list[str], patterns: list[re.Pattern[str]]) -> bool:
    return any(value in text for value in plain) or _any(patterns, text)


def _any(patterns: list[re.Pattern[str]], text: str) -> bool:
    return any(pattern.fullmatch(text) for pattern in patterns)


def _parameter_test(term: Term) -> Callable[[RunFacts], bool]:
    name = term.key
    holds = _number_test(term) if _is_numeric(term) else None
    fits = _text_test(term) if term.op == ":" else None

    def test(run: RunFacts) -> bool:
        if name not in run.parameters:
            return False
        value = run.parameters[name]
        if isinstance(value, int | float) and not isinstance(value, bool) and holds is not None:
            return holds(value)
        return fits is not None and fits(parameter_text(value))

    return test


def _is_numeric(term: Term) -> bool:
    """Whether some value of a parameter's term may be compared with a number."""
    if term.op != ":":
        return True
    return any(
        _number_of(term, part) is not None for value in term.values for part in value.split("..")
    )


def parameter_text(value: ParameterValue) -> str:
    """Return the value of a parameter as it is written and shown.

    Args:
        value: the value.

    Returns:
        `true`, `null`, the shortest form of a number, or the text itself.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def _store_test(term: Term) -> Callable[[StoredFacts, Mapping[str, MetricFigures]], bool]:
    holds, key, figure = _number_test(term), term.key, term.figure
    field = StoredFacts._fields.index(key) if term.source is TermSource.STORE else 0

    def test(stored: StoredFacts, metrics: Mapping[str, MetricFigures]) -> bool:
        if term.source is TermSource.STORE:
            found = holds(stored[field])
        else:
            known = metrics.get(key)
            found = known is not None and holds(known.figure(figure))
        return found != term.negated

    return test


def _number_test(term: Term) -> Callable[[float | None], bool]:
    if term.op != ":":
        compare, limit = _COMPARE[term.op], _number_of(term, term.values[0])
        if limit is None:  # `_fault` refused it
            return lambda _: False
        return lambda value: value is not None and not math.isnan(value) and compare(value, limit)
    ranges = [_range_of(term, value) for value in term.values]
    return lambda value: (
        value is not None and any(low <= value <= high for low, high in ranges if low is not None)
    )


def _range_of(term: Term, value: str) -> tuple[float | None, float]:
    low, dots, high = value.partition("..")
    if not dots:
        number = _number_of(term, value)
        return number, number or 0.0
    least = _number_of(term, low) if low else -math.inf
    most = _number_of(term, high) if high else math.inf
    return (None, 0.0) if most is None else (least, most)


def _number_of(term: Term, text: str) -> float | None:
    if term.key == "took" and term.source is TermSource.RECORD:
        return _seconds_of(text)
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    return float(match[1]) * _FACTORS.get(match[2].lower(), 1.0)


def _seconds_of(text: str) -> float | None:
    match = _DURATION.fullmatch(text.lower())
    if match is not None and any(match.groups()):
        parts = (float(part or 0) for part in match.groups())
        return sum(part * unit for part, unit in zip(parts, _UNITS_S))  # noqa: B905 - equally many
    number = _NUMBER.fullmatch(text)
    return float(number[1]) if number is not None and not number[2] else None


def _moment_of(text: str, now: float) -> float | None:
    """The moment that is meant: so long ago, or a date in local time."""
    match = _DURATION.fullmatch(text.lower())
    if match is not None and any(match.groups()):
        return now - (_seconds_of(text) or 0.0)
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


def _is_pattern(value: str) -> bool:
    return "*" in value or "?" in value


def _pattern(value: str) -> re.Pattern[str]:
    parts = (".*" if sign == "*" else "." if sign == "?" else re.escape(sign) for sign in value)
    return re.compile("".join(parts), re.IGNORECASE | re.DOTALL)


def _all(tests: list[Callable[[RunFacts], bool]]) -> Callable[[RunFacts], bool]:
    if len(tests) == 1:
        return tests[0]
    return lambda run: all(test(run) for test in tests)


def _example(key: str) -> str:
    name = ALIASES.get(key, key)
    examples = {
        "state": "failed",
        "took": "10m",
        "since": "2d",
        "until": "2026-01-31",
        "env": "CartPole-v1",
    }
    return examples.get(name, "ppo" if name in TEXT_KEYS else "0.001" if name not in KEYS else "5")


def _no_end(text: str, start: int) -> SearchError:
    return SearchError(text, start, len(text), 'a quotation mark is missing: write name:"my run"')
