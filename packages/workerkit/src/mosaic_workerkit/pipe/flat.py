"""Lines without a `type`: each number is a metric under its key, the rest is kept together."""

import re
from collections.abc import Callable
from typing import Any

from mosaic_contracts.wire import INTEGER_LIMIT
from mosaic_workerkit.pipe.episodes import Episodes
from mosaic_workerkit.pipe.errors import LineRefused
from mosaic_workerkit.pipe.number import HugeNumber, Number, numbers_of
from mosaic_workerkit.pipe.reading import STEP_KEYS, Fields, number_of, step_of, storable
from mosaic_workerkit.telemetry import Telemetry

FIELDS = "program.fields"
"""Type of the event that keeps fields which no other event can hold."""

_RETURN, _LENGTH = "episodic_return", "episodic_length"
_AS_METRIC = {_RETURN: f"charts/{_RETURN}", _LENGTH: f"charts/{_LENGTH}"}
"""CleanRL's own names of the two, so that a piped script and a CleanRL run share their curves."""
_MAX_NAMES = 10_000
"""Number of metric names that are remembered; a program that makes more takes the long way for them."""
_TOO_LARGE = INTEGER_LIMIT

_match_return = re.compile(
    rb"global_step=(\d{1,18}), episodic_return=\[?(-?\d{1,18}\.?\d{0,18})\]?"
).fullmatch
"""The line that CleanRL's scripts print, which is most of what they print."""
_PAIR = rb"([A-Za-z_][\w./-]*)=\[?(-?\d{1,18}(?:\.\d*)?(?:[eE][-+]?\d{1,2})?)\]?"
_match_pairs = re.compile(_PAIR + 3 * (rb"(?:, ?| |$)(?:" + _PAIR + rb")?")).fullmatch
"""One to four pairs."""


class FlatLines:
    """Records lines without a `type`: numbers become metrics and ends of episodes.

    Args:
        refuse: called with reason and message for a value that is not kept.
    """

    def __init__(
        self, telemetry: Telemetry, episodes: Episodes, refuse: Callable[[str, str], None]
    ) -> None:
        self._telemetry = telemetry
        self._episodes = episodes
        self._refuse = refuse
        self._names: dict[str, str] = {}
        """Metric name of each key that came; empty for a step's."""
        self._keys: dict[bytes, str] = {}
        """Text of each key that came in pairs."""

    def take_pairs(self, line: bytes) -> bool:
        """Record `key=NUMBER` pairs at a step. Return False, and record nothing, for any other line."""
        ended = _match_return(line)
        if ended is not None:
            step, total = int(ended[1]), float(ended[2])
            self._episodes.global_step = step
            self._telemetry.metrics(step, [(_AS_METRIC[_RETURN], total)])
            self._episodes.end(0, None, 0, total, None)
            return True
        pairs = _match_pairs(line)
        if pairs is None:
            return False
        parts, keys = pairs.groups(), self._keys
        fields: dict[str, float] = {}
        for key, value in zip(parts[::2], parts[1::2], strict=True):
            if key is not None:
                number = int(value) if value.isdigit() else float(value)
                fields[keys.get(key) or self._learn_key(key)] = number
        return self.take_numbers(fields)

    def take_numbers(self, fields: Fields) -> bool:
        """Record a line of plain numbers at a step. Return False, and record nothing, if the line has other fields."""
        step = fields.get("global_step")
        if step is None:
            step = fields.get("step")
        if type(step) is not int or not 0 <= step < _TOO_LARGE:
            return False
        names = self._names
        points = []
        for key, value in fields.items():
            if type(value) is not float:
                if type(value) is not int or not -_TOO_LARGE < value < _TOO_LARGE:
                    return False
                value = float(value)
            name = names.get(key)
            if name is None:
                name = self._learn(key)
                if name is None:
                    return False
            if name:
                points.append((name, value))
        self._episodes.global_step = step
        self._telemetry.metrics(step, points)
        if _RETURN in fields:
            length = fields.get(_LENGTH, 0)
            steps = int(length) if 0 <= length < _TOO_LARGE else 0
            self._episodes.end(0, None, steps, float(fields[_RETURN]), None)
        return True

    def _learn_key(self, key: bytes) -> str:
        text = key.decode()
        if len(self._keys) < _MAX_NAMES:
            self._keys[key] = text
        return text

    def _learn(self, key: str) -> str | None:
        """The metric's name for a key; None where the line must be read the long way."""
        if key in ("type", "") or len(self._names) >= _MAX_NAMES:
            return None
        name = "" if key in STEP_KEYS else storable(_AS_METRIC.get(key, key))
        self._names[key] = name
        return name

    def take(self, fields: Fields) -> None:
        """Record a line's fields: numbers as metrics, ends of episodes, and what is left in one event."""
        step = self._step(fields)
        kept: Fields = {}
        for key, value in fields.items():
            if key not in STEP_KEYS and key not in _AS_METRIC:
                self._take_value(key, step, value, kept)
        returns = self._listed(fields, _RETURN, step, kept)
        lengths = self._listed(fields, _LENGTH, step, kept)
        if len(lengths) != len(returns):
            lengths = [0] * len(returns)
        for total, length in zip(returns, lengths, strict=True):
            steps = int(length) if 0 <= length < _TOO_LARGE else 0
            self._episodes.end(0, None, steps, float(total), None)
        if kept:
            self._telemetry.extra(FIELDS, {"step": step, "fields": storable(kept)})

    def _take_value(self, key: str, step: int | None, value: Any, kept: Fields) -> None:
        try:
            number = number_of(value)
        except LineRefused as error:
            self._refuse(error.reason, f"{key}: {error}")
            return
        if number is None:
            kept[key] = value
        elif not key:
            self._refuse("key_empty", f"the number {number} has an empty key; give it a name")
        else:
            self._telemetry.metric(storable(key), step, number)

    def _listed(self, fields: Fields, key: str, step: int | None, kept: Fields) -> list[Number]:
        """Return or length of each episode that the line ends; each is a metric, too."""
        if key not in fields:
            return []
        if fields[key] is None:
            kept[key] = None
            return []
        values = _several(fields[key])
        numbers = [value for value in values if not isinstance(value, HugeNumber)]
        if len(numbers) < len(values):
            self._refuse("number_too_large", f"{key} is beyond a 64-bit float; print it scaled")
        elif not values:
            self._refuse(
                "return_unread", f"{key} is {fields[key]!r:.60}; print a number or several"
            )
        for number in numbers:
            self._telemetry.metric(_AS_METRIC[key], step, float(number))
        return numbers

    def _step(self, fields: Fields) -> int | None:
        """The line's step; a wrong one is refused, and costs the line its step only."""
        try:
            step = step_of(fields)
        except LineRefused as error:
            self._refuse(error.reason, str(error))
            return None
        if step is not None:
            self._episodes.global_step = step
        return step


def _several(value: Any) -> list[Number | HugeNumber]:
    """The numbers of a value as JSON or as text has it: one, those of an array, or none."""
    if isinstance(value, list):
        parts = [_several(item) for item in value]
        return [number for part in parts for number in part] if all(parts) else []
    if isinstance(value, str) and not isinstance(value, HugeNumber):
        return numbers_of(value) or []
    is_number = isinstance(value, int | float | HugeNumber) and not isinstance(value, bool)
    return [value] if is_number else []
