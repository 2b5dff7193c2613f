"""Numbers as programs print them: plain, or as Python, NumPy, torch and JAX show values and arrays."""

import math
import re

Number = int | float

_WRAPPED = re.compile(
    r"(?:(?:np|numpy|torch|jnp|jax\.numpy)\.)?"
    r"(?:u?int\d*|float\d*_?|double|longdouble|bool_?|tensor|Tensor|array|Array|asarray)\((.*)\)",
    re.DOTALL,
)
_MAX_WRAPPERS = 3
_OPTION = re.compile(r",\s*[a-z_]+=.*", re.DOTALL)
"""`, dtype=float32`, `, device='cuda:0'`, `, grad_fn=<X>`: not part of the values."""
_PUNCTUATION = re.compile(r"[\[\](),;]")
_NUMBER = re.compile(r"[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_NON_FINITE = {"nan": math.nan, "inf": math.inf, "infinity": math.inf}
_MAX_DIGITS = 400
"""Python refuses to read integers of more than 4,300 digits, and no float holds one of 310."""


class HugeNumber(str):
    """A number kept as text, because no 64-bit float can hold it: 1e400 is not infinity."""

    __slots__ = ()


def numbers_of(text: str) -> list[Number | HugeNumber] | None:
    """Return the numbers of a printed value, an array or a list; None for anything else."""
    for _ in range(_MAX_WRAPPERS):
        wrapped = _WRAPPED.fullmatch(text)
        if wrapped is None:
            break
        text = _OPTION.sub("", wrapped[1]).strip()
    words = _PUNCTUATION.sub(" ", text).split() if text[:1] in ("[", "(") else [text]
    numbers = [number for word in words if (number := number_of_word(word)) is not None]
    return numbers if len(numbers) == len(words) else None


def number_of_word(word: str) -> Number | HugeNumber | None:
    """Return the number that a word is, or None."""
    if _NUMBER.fullmatch(word) is None:
        value = _NON_FINITE.get(word.lstrip("+-").lower())
        return value if value is None or not word.startswith("-") else -value
    plain = word.rstrip(".")
    try:
        is_whole = plain.lstrip("+-").replace("_", "").isdigit()
        return integer(plain) if is_whole else finite(plain)
    except ValueError:
        return None  # 1__0


def integer(text: str) -> int | HugeNumber:
    """Return an integer; one that no float can hold stays as it was written."""
    if len(text) > _MAX_DIGITS:
        return HugeNumber(text)
    value = int(text)
    try:
        float(value)
    except OverflowError:
        return HugeNumber(text)
    return value


def finite(text: str) -> float | HugeNumber:
    """Return a float; one beyond the largest stays as it was written."""
    value = float(text)
    return value if math.isfinite(value) else HugeNumber(text)
