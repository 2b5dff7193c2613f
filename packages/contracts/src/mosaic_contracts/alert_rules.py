"""Language of alert rules: `return<50 for 50k steps`, `nan or inf`, `no episode for 10m`, `disk low`, `failed`.

`parse_alert` reads a rule once; an error points at the word. Metrics have the names that they have in the search of the
run list (`m.losses/entropy`). Without pydantic: the command line, the services and the window use it.
"""

import math
import re
from fnmatch import fnmatchcase
from typing import NamedTuple

from mosaic_contracts.alert_words import (
    EPISODE_ALIASES,
    EPISODE_WORDS,
    FAILED_STATES,
    INF,
    LOSS_PATTERN,
    MAX_RULE,
    NAN,
)
from mosaic_contracts.compat import StrEnum
from mosaic_contracts.marked_error import MarkedError
from mosaic_contracts.search_words import ENDED, METRIC
from mosaic_contracts.states import RunState

_TOKEN = re.compile(r'\s*(>=|<=|!=|==|[<>=]|"[^"]*"|[^\s<>=!"]+|.)')
_NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)([kmg]?)", re.IGNORECASE)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(s|sec|min|m|h|d)", re.IGNORECASE)
_FACTORS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}
_UNITS_S = {"s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_OPS = {"<": "below", "<=": "at most", ">": "above", ">=": "at least"}
_STATES = tuple(state.value for state in RunState)
_BEGIN = "a rule begins with return, mean, best, length, m.METRIC, nan, inf, no episode, disk, ended, failed or state:"
_AMOUNT = "write how long, for example 50k steps, 90s, 10m or 2h"


class AlertError(MarkedError):
    """A rule that cannot be understood."""


class AlertKind(StrEnum):
    """What a rule looks at."""

    VALUE = "value"
    """A return, a length or a metric that is compared with a number."""
    NOT_FINITE = "not_finite"
    """NaN or infinities of metrics."""
    NO_EPISODE = "no_episode"
    DISK = "disk"
    STATE = "state"
    UNRESPONSIVE = "unresponsive"


class AlertRule(NamedTuple):
    """A rule that was understood."""

    kind: AlertKind
    metric: str = ""
    """`return`, `mean`, `best`, `length`; else the name, its end after `/`, or a pattern of metrics."""
    is_episode_value: bool = False
    """Whether `metric` is one of the words for episodes."""
    op: str = ""
    limit: float = 0.0
    steps: int | None = None
    """Environment steps for which it must hold."""
    seconds: float | None = None
    """Seconds for which it must hold."""
    words: tuple[str, ...] = ()
    """States, `low` or `critical`, or `nan` and `inf`."""

    @property
    def is_of_store(self) -> bool:
        """Whether it is evaluated from what the store has."""
        return self.kind in (AlertKind.VALUE, AlertKind.NOT_FINITE, AlertKind.NO_EPISODE)

    @property
    def text(self) -> str:
        """The rule as it is written shortest; two rules that mean the same have one text."""
        if self.kind is AlertKind.VALUE:
            name = self.metric if self.is_episode_value else f"{METRIC}{_quoted(self.metric)}"
            return f"{name}{self.op}{_short(self.limit)}{self._for()}"
        if self.kind is AlertKind.NOT_FINITE:
            where = "" if self.metric == LOSS_PATTERN else f" in {_quoted(self.metric)}"
            return " or ".join(self.words) + where
        if self.kind is AlertKind.NO_EPISODE:
            return f"no episode{self._for()}"
        if self.kind is AlertKind.DISK:
            return f"disk {self.words[0]}"
        if self.kind is AlertKind.UNRESPONSIVE:
            return "unresponsive"
        if self.words == FAILED_STATES:
            return "failed"
        return ENDED if self.words == (ENDED,) else f"state:{','.join(self.words)}"

    def _for(self) -> str:
        if self.steps is not None:
            return f" for {_short(self.steps)} steps"
        return "" if self.seconds is None else f" for {short_time(self.seconds)}"

    @property
    def plain(self) -> str:
        """The rule as a sentence without a full stop."""
        lasting = ""
        if self.steps is not None:
            lasting = f" for {self.steps:,} steps"
        elif self.seconds is not None:
            lasting = f" for {short_time(self.seconds)}"
        if self.kind is AlertKind.VALUE:
            what = f"The {EPISODE_WORDS[self.metric]}" if self.is_episode_value else self.metric
            return f"{what} is {_OPS[self.op]} {self.limit:,.6g}{lasting}"
        if self.kind is AlertKind.NOT_FINITE:
            bad = " or ".join("NaN" if word == NAN else "infinite" for word in self.words)
            where = "a loss" if self.metric == LOSS_PATTERN else self.metric
            return f"A value of {where} is {bad}"
        if self.kind is AlertKind.NO_EPISODE:
            return f"No episode has ended{lasting}"
        if self.kind is AlertKind.DISK:
            return f"Free space on a disk of the stack is {self.words[0]}"
        if self.kind is AlertKind.UNRESPONSIVE:
            return "The run does not respond"
        if self.words == (ENDED,):
            return "The run has ended"
        return f"The run is {' or '.join(self.words)}"

    def holds(self, value: float) -> bool:
        """Whether a value meets the comparison of a rule of kind `value`.

        Args:
            value: a number. NaN meets none.

        Returns:
            Whether it does.
        """
        if self.op == "<":
            return value < self.limit
        if self.op == "<=":
            return value <= self.limit
        return value > self.limit if self.op == ">" else value >= self.limit

    def holds_state(self, state: str, *, is_final: bool) -> bool:
        """Whether a run in a state meets a rule of kind `state`.

        Args:
            state: the state of the run.
            is_final: whether the run has ended.

        Returns:
            True if the rule names the state, or `ended` and the run has ended.
        """
        return state in self.words or (ENDED in self.words and is_final)

    def find_metrics(self, known: list[str]) -> list[str]:
        """Find the metrics that the rule looks at.

        Args:
            known: names of the metrics of a run.

        Returns:
            Those that it means: the name itself, all that end so after `/`, or all that fit the pattern.
        """
        if "*" in self.metric or "?" in self.metric:
            pattern = self.metric.casefold()
            return sorted(name for name in known if fnmatchcase(name.casefold(), pattern))
        if self.metric in known:
            return [self.metric]
        return sorted(name for name in known if name.endswith(f"/{self.metric}"))


class _Token(NamedTuple):
    text: str
    start: int
    end: int


class _Tokens:
    """Words of a rule, taken one after the other."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._words = [
            _Token(match[1], match.start(1), match.end(1))
            for match in _TOKEN.finditer(text.rstrip())
        ]
        self._at = 0

    def peek(self) -> str:
        """The next word in small letters; empty at the end."""
        return self._words[self._at].text.casefold() if self._at < len(self._words) else ""

    def take(self) -> _Token:
        """The next word; at the end an empty one behind the last."""
        if self._at == len(self._words):
            return _Token("", len(self.text), len(self.text))
        self._at += 1
        return self._words[self._at - 1]

    def wrong(self, token: _Token, reason: str) -> AlertError:
        """An error at a word."""
        return AlertError(self.text, token.start, token.end, reason)

    def take_if(self, *words: str) -> bool:
        """Take the next word if it is one of these."""
        if self.peek() not in words:
            return False
        self.take()
        return True

    def end(self) -> None:
        """Check that nothing follows."""
        if self.peek():
            token = self.take()
            raise AlertError(self.text, token.start, len(self.text), "nothing may follow here")


def parse_alert(text: str) -> AlertRule:
    """Read a rule.

    Args:
        text: one rule, such as `return<50 for 50k steps`.

    Returns:
        The rule.

    Raises:
        AlertError: it cannot be understood.
    """
    if len(text) > MAX_RULE:
        raise AlertError(text, MAX_RULE, len(text), f"a rule has up to {MAX_RULE} characters")
    tokens = _Tokens(text)
    first = tokens.peek()
    if first in (NAN, INF, "infinite"):
        rule = _not_finite(tokens)
    elif first == "no":
        rule = _no_episode(tokens)
    elif first == "disk":
        rule = _disk(tokens)
    elif first in (ENDED, "failed", "unresponsive") or first.startswith("state:"):
        rule = _state(tokens)
    else:
        rule = _value(tokens)
    tokens.end()
    return rule


def short_time(seconds: float) -> str:
    """Write a duration in its largest whole unit.

    Args:
        seconds: the duration.

    Returns:
        For example `90s`, `10m`, `2h` or `1d`.
    """
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("m", 60.0)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:g}s"


def _value(tokens: _Tokens) -> AlertRule:
    name = tokens.take()
    if not name.text:
        raise tokens.wrong(name, _BEGIN)
    word = name.text.casefold()
    word = EPISODE_ALIASES.get(word, word)
    is_episode_value = word in EPISODE_WORDS
    if not is_episode_value:
        if not name.text.startswith(METRIC):
            raise tokens.wrong(
                name, f"{_BEGIN}. A metric is written {METRIC}{name.text.strip(chr(34))}"
            )
        word = _metric_name(tokens, name)
        if not word:
            raise tokens.wrong(
                name, f"a name is missing after the dot, as in {METRIC}losses/entropy"
            )
    op = tokens.take()
    if op.text not in _OPS:
        raise tokens.wrong(op, f"an alert compares with <, <=, > or >=; write {name.text}<50")
    number = tokens.take()
    match = _NUMBER.fullmatch(number.text)
    if match is None:
        raise tokens.wrong(number, f"a number is expected; write {name.text}{op.text}50")
    limit = float(match[1]) * _FACTORS[match[2].lower()]
    if not math.isfinite(limit):
        raise tokens.wrong(number, "the number is too large")
    steps, seconds = _lasting(tokens) if tokens.take_if("for") else (None, None)
    return AlertRule(AlertKind.VALUE, word, is_episode_value, op.text, limit, steps, seconds)


def _not_finite(tokens: _Tokens) -> AlertRule:
    words = [NAN if tokens.take().text.casefold() == NAN else INF]
    if tokens.take_if("or"):
        other = tokens.take()
        if other.text.casefold() not in (NAN, INF, "infinite"):
            raise tokens.wrong(other, "write nan or inf")
        words.append(NAN if other.text.casefold() == NAN else INF)
    pattern = LOSS_PATTERN
    if tokens.take_if("in"):
        name = tokens.take()
        pattern = _metric_name(tokens, name)
        if not pattern:
            raise tokens.wrong(name, "write a metric or a pattern, for example nan in losses/*")
    ordered = tuple(word for word in (NAN, INF) if word in words)
    return AlertRule(AlertKind.NOT_FINITE, metric=pattern, words=ordered)


def _no_episode(tokens: _Tokens) -> AlertRule:
    tokens.take()
    word = tokens.take()
    if word.text.casefold() != "episode":
        raise tokens.wrong(word, "write no episode for 20k steps")
    token = tokens.take()
    if token.text.casefold() != "for":
        raise tokens.wrong(token, "write for and how long, as in no episode for 20k steps")
    steps, seconds = _lasting(tokens)
    return AlertRule(AlertKind.NO_EPISODE, steps=steps, seconds=seconds)


def _disk(tokens: _Tokens) -> AlertRule:
    tokens.take()
    level = tokens.take()
    if level.text.casefold() not in ("low", "critical"):
        raise tokens.wrong(level, "write disk low or disk critical")
    return AlertRule(AlertKind.DISK, words=(level.text.casefold(),))


def _state(tokens: _Tokens) -> AlertRule:
    token = tokens.take()
    word = token.text.casefold()
    if word == "unresponsive":
        return AlertRule(AlertKind.UNRESPONSIVE)
    if word == ENDED:
        return AlertRule(AlertKind.STATE, words=(ENDED,))
    if word == "failed":
        return AlertRule(AlertKind.STATE, words=FAILED_STATES)
    states = [state for state in word.removeprefix("state:").split(",") if state]
    unknown = [state for state in states if state not in (*_STATES, ENDED)]
    if unknown or not states:
        raise tokens.wrong(token, f"a state is one of {', '.join((*_STATES, ENDED))}")
    return AlertRule(AlertKind.STATE, words=tuple(dict.fromkeys(states)))


def _lasting(tokens: _Tokens) -> tuple[int | None, float | None]:
    token = tokens.take()
    number = _NUMBER.fullmatch(token.text)
    if number is not None and tokens.peek() in ("step", "steps"):
        tokens.take()
        steps = float(number[1]) * _FACTORS[number[2].lower()]
        if not 1 <= steps < 2**53:
            raise tokens.wrong(token, "write at least 1 step and fewer than 2**53")
        return round(steps), None
    duration = _DURATION.fullmatch(token.text)
    if duration is None:
        raise tokens.wrong(token, _AMOUNT)
    seconds = float(duration[1]) * _UNITS_S[duration[2].lower()]
    if not 0 < seconds < 1e8:
        raise tokens.wrong(token, _AMOUNT)
    return None, seconds


def _metric_name(tokens: _Tokens, first: _Token) -> str:
    """The name of a metric, which may have quotes behind `m.`."""
    name = first.text.removeprefix(METRIC)
    if not name and tokens.peek().startswith('"'):
        name = tokens.take().text
    return name.strip('"')


def _quoted(name: str) -> str:
    return f'"{name}"' if re.search(r"[\s<>=!]", name) else name


def _short(number: float) -> str:
    for unit, size in (("m", 1e6), ("k", 1e3)):
        if number >= size and number % size == 0:
            return f"{number / size:g}{unit}"
    return f"{number:.10g}"
