"""Lines of `key=value` pairs as training scripts print them, also behind a log prefix."""

import re
from typing import Any

from mosaic_workerkit.pipe.errors import LineRefused
from mosaic_workerkit.pipe.number import numbers_of

# A key begins where a word begins, or a long word would be searched from each of its letters.
_EQUALS = re.compile(r"(?<![\w./-])([A-Za-z_][\w./-]*)\s*=\s*")
_COLON = re.compile(
    r"(?<![\w./-])([A-Za-z_][\w./-]*):\s+"
    r"(?=[-+.\d\[(]|nan\b|inf\b|(?:np|numpy|torch|jnp)\.|tensor|array|Array)"
)
"""With a colon only in front of what begins like a number, or every sentence would have pairs."""
_SEPARATORS = re.compile(r"[,;|\s]*")
_WORD = re.compile(r"[^\s,;|=\[\](){}'\"]+")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_OPENS = re.compile(r"(?:[A-Za-z_][\w.]*)?[\[({]")
_BRACKET = re.compile(r"[\[\](){}]")
_CLOSES = {"[": "]", "(": ")", "{": "}"}
_CONSTANTS = {"true": True, "false": False, "null": None}

_PREFIX_TOKEN = re.compile(
    r"""
    (?P<mark> \[[^\[\]]*\] | <[^<>]*> | \([^()]*\)
      | (?i:trace|debug|info|notice|success|warn(?:ing)?|error|critical|fatal)\b
      | [DIWEF]\d{4}\b
      | \d[\d:.,/TZ+-]*
    )
    | [\w.-]+(?=\s*[:|>\]]|\s+-\s)
    | [-:|>\]\s]+
    """,
    re.VERBOSE,
)
"""What a logger writes before a message: times, levels, brackets; and names, which alone make no prefix."""
_MAX_PREFIX = 200
_BAR = re.compile(r"\d+%\|")


def read_pairs(text: str, step_keys: tuple[str, ...]) -> dict[str, Any] | None:
    """The fields of a line that is made of pairs, one of them the step; None for a sentence with an equals sign.

    Raises:
        LineRefused: the step stands next to other pairs, and the line has more text than a log prefix.
    """
    fields = _fields(text, _end_of_prefix(text, _EQUALS), _EQUALS)
    if fields is None:
        if _has_pairs(text, step_keys):
            raise LineRefused(
                "pairs_unread",
                f"the pairs of {text[:100]!r} are inside other text. Print key=value pairs alone, or a JSON object",
            )
        fields = _fields(text, _end_of_prefix(text, _COLON), _COLON)
    return fields if fields and any(key in fields for key in step_keys) else None


def _fields(text: str, at: int, sign: re.Pattern[str]) -> dict[str, Any] | None:
    """All pairs from `at` on; None when anything else stands between or behind them."""
    fields: dict[str, Any] = {}
    while at < len(text):
        key = sign.match(text, at)
        end = _end_of_value(text, key.end()) if key else None
        if key is None or end is None:
            return None
        value = _value(text[key.end() : end])
        if sign is _COLON and type(value) is str:
            return None
        fields[key[1]] = value
        after = _SEPARATORS.match(text, end)
        if after is None or after.end() == end < len(text):
            return None
        at = after.end()
    return fields


def _end_of_prefix(text: str, sign: re.Pattern[str]) -> int:
    """Where the pairs begin: behind what a logger writes before a message, else at the line's beginning."""
    at, has_mark = _SEPARATORS.match(text).end(), False  # type: ignore[union-attr] # it matches nothing, too
    start = at
    while at < _MAX_PREFIX and sign.match(text, at) is None:
        token = _PREFIX_TOKEN.match(text, at)
        if token is None:
            return start
        has_mark = has_mark or token["mark"] is not None
        at = token.end()
    return at if has_mark else start


def _end_of_value(text: str, at: int) -> int | None:
    """Where the value ends that begins at `at`; None when nothing stands there."""
    if quoted := _QUOTED.match(text, at):
        return quoted.end()
    if opening := _OPENS.match(text, at):
        return _end_of_bracket(text, opening.end() - 1)
    word = _WORD.match(text, at)
    return word.end() if word else None


def _end_of_bracket(text: str, at: int) -> int | None:
    expected: list[str] = []
    for bracket in _BRACKET.finditer(text, at):
        if bracket[0] in _CLOSES:
            expected.append(_CLOSES[bracket[0]])
        elif bracket[0] != expected.pop():
            return None
        if not expected:
            return bracket.end()
    return None


def _value(text: str) -> Any:
    if quoted := _QUOTED.fullmatch(text):
        return quoted[1] or quoted[2] or ""
    numbers = numbers_of(text)
    if numbers is None:
        return _CONSTANTS.get(text, text)
    return numbers[0] if len(numbers) == 1 else numbers


def _has_pairs(text: str, step_keys: tuple[str, ...]) -> bool:
    """Whether the step stands next to another pair; not in a progress bar, which repeats what it shows."""
    keys = {key[1] for key in _EQUALS.finditer(text)}
    return len(keys) > 1 and not keys.isdisjoint(step_keys) and _BAR.search(text) is None
