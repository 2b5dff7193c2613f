"""Parses a number in the notations of different countries. A text that could be two numbers is refused."""

import math
import re
import unicodedata
from decimal import Decimal, InvalidOperation

from mosaic_gui.state.language import tr

MOST_DIGITS = 40
"""Digits of a whole number; more are a typing error, e.g. `1e99`."""

_SAME = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d", "-"),
        **dict.fromkeys("\u00a0\u2007\u2009\u202f\u3000", " "),
        **dict.fromkeys("\u2019\u02bc\uff07\u066c", "'"),
        "\uff0b": "+",
        "\uff0c": ",",
        "\uff0e": ".",
        "\u066b": ".",
        "\uff3f": "_",
        "\uff45": "e",
        "\uff25": "E",
    }
)
"""Signs that mean the same: minus signs of papers, narrow spaces, and what full-width and Arabic keyboards type."""
_NUMBER = re.compile(r"([+-]?)([\d.,_' ]*\d[.]?)(?:[eE]([+-]?\d{1,6}))?")
_PLAIN = re.compile(r"(\d*)(?:\.(\d*))?")
_SPACED = re.compile(r"([1-9]\d{0,2}(?:([ _'])\d{3})(?:\2\d{3})*)(?:[.,](\d+))?")
_COMMAS = re.compile(r"([1-9]\d{0,2}(?:,\d{3})+)(?:\.(\d+))?")
_POINTS = re.compile(r"([1-9]\d{0,2}(?:\.\d{3}){2,}|[1-9]\d{0,2}(?:\.\d{3})+(?=,))(?:,(\d+))?")
_DECIMAL_COMMA = re.compile(r"(\d*),(\d+)")
_POINT_OR_THOUSAND = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
_SEVERAL = re.compile(r"[\[({]?\s*[+-]?\d[^a-zA-Z]*[,;:\s/|_'.]")


def read_number(text: str) -> float:
    """The number that a text means.

    A comma is a decimal comma unless whole groups of three digits follow it.

    Raises:
        ValueError: why the text is not one number, in words for the user.
    """
    exact = _exact(_with_common_signs(text), takes_decimal_comma=True)
    value = float(exact)
    if not math.isfinite(value):
        raise ValueError(tr("too large"))
    if exact and not value:
        raise ValueError(tr("too small to differ from 0"))
    return value


def read_whole(text: str) -> int:
    """The whole number that a text means.

    Raises:
        ValueError: why the text is not one whole number, in words for the user.
    """
    common = _with_common_signs(text)
    if _POINT_OR_THOUSAND.fullmatch(common):
        whole, _, rest = common.partition(".")
        raise ValueError(
            tr(
                "can mean {one} or {other}: write it without a separator",
                one=whole,
                other=whole + rest,
            )
        )
    exact = _exact(common, takes_decimal_comma=False)
    if exact.adjusted() > MOST_DIGITS:
        raise ValueError(tr("too large"))
    if exact.adjusted() < -MOST_DIGITS or exact != exact.to_integral_value():
        raise ValueError(tr("must be a whole number"))
    return int(exact)


def _with_common_signs(text: str) -> str:
    """The text with ASCII digits, and with one sign for each meaning."""
    digits = (unicodedata.decimal(sign, None) for sign in text)
    plain = "".join(
        sign if digit is None else str(digit) for sign, digit in zip(text, digits, strict=True)
    )
    return plain.translate(_SAME).strip()


def _exact(text: str, *, takes_decimal_comma: bool) -> Decimal:
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise ValueError(_why_not(text))
    sign, body, exponent = found.groups()
    parts = _parts(body, takes_decimal_comma=takes_decimal_comma, has_exponent=exponent is not None)
    if parts is None:
        raise ValueError(_why_not(text))
    whole, fraction = parts
    try:
        return Decimal(f"{sign}{whole or 0}.{fraction or 0}E{exponent or 0}")
    except InvalidOperation:
        raise ValueError(tr("must be a number")) from None


def _parts(
    body: str, *, takes_decimal_comma: bool, has_exponent: bool
) -> tuple[str, str | None] | None:
    """Digits before and after the point; None where the separators do not mean one number."""
    if (plain := _PLAIN.fullmatch(body)) is not None:
        return plain[1], plain[2]
    if (spaced := _SPACED.fullmatch(body)) is not None:
        return re.sub(r"\D", "", spaced[1]), spaced[3]
    grouped = _COMMAS.fullmatch(body) or _POINTS.fullmatch(body)
    if grouped is not None:
        # `1,000e-3` is 1 with a thousand's comma and 0.001 with a decimal one
        return None if has_exponent else (re.sub(r"\D", "", grouped[1]), grouped[2])
    comma = _DECIMAL_COMMA.fullmatch(body)
    return (comma[1], comma[2]) if comma is not None and takes_decimal_comma else None


def _why_not(text: str) -> str:
    if text.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        return tr("must be a finite number")
    if _SEVERAL.match(text):
        return tr("must be one number, with whole groups of three digits if any")
    return tr("must be a number")
