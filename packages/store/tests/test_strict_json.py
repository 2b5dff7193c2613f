"""Strict JSON of plain values."""

import math

from mosaic_store.strict_json import strict_json


def test_strict_json_writes_words_for_what_is_no_number() -> None:
    """Non-finite floats are words at any depth, finite ones are untouched, text stays text."""
    value = {"a": [math.nan, {"b": (math.inf, -math.inf)}], "é": 1e308, "n": None, "t": True}
    assert strict_json(value).decode() == (
        '{"a":["NaN",{"b":["Infinity","-Infinity"]}],"é":1e+308,"n":null,"t":true}'
    )
    assert strict_json([1, "NaN"]) == b'[1,"NaN"]'
