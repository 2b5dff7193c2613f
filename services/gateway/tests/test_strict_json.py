"""Strict JSON, in and out."""

import json
import math
from typing import Any

import pytest

from mosaic_contracts.runs import Curve, CurveBucket
from mosaic_gateway.strict_json import JsonInvalid, read_json, write_json


def strictly(text: bytes) -> Any:
    """Parse as a strict parser does."""

    def refuse(word: str) -> Any:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_non_finite_floats_go_out_as_words() -> None:
    """NaN and infinities in models and in plain values are words; other floats keep their value."""
    bucket = CurveBucket(
        step0=0, step1=1, n=2, min=None, max=math.inf, mean=math.nan, last=-math.inf
    )
    curve = Curve(run_id="r", name="m", points=1, buckets=[bucket], values=[1e308, math.nan])
    got = strictly(write_json(curve))
    assert got["values"] == [1e308, "NaN"]
    assert (got["buckets"][0]["max"], got["buckets"][0]["last"]) == ("Infinity", "-Infinity")
    assert strictly(write_json({"a": [math.nan, {"b": -math.inf}]})) == {
        "a": ["NaN", {"b": "-Infinity"}]
    }
    assert Curve.model_validate_json(write_json(curve)).buckets[0].max == math.inf


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": NaN}', b'{"a": Infinity}', b'{"a": -Infinity}', b'{"a": 1e400}', b'{"a": -1e999}',
        b'{"a": 1, "a": 2}', b"[" * 100_000, b'{"a":' * 50_000, b'{"a": "\\ud800"}', b"\xff\xfe{}", b"",
        b"[" * 65 + b"]" * 65, b'{"a":' * 65 + b"1" + b"}" * 65, b'[{"a":' * 33 + b"1" + b"}]" * 33,
        b"{", b'{"a": 1} x', b'{"a": ' + b"9" * 5000 + b"}", b" " * (2**20 + 1), b"\xef\xbb\xbf{}",
    ],
)  # fmt: skip
def test_what_parsers_read_differently_is_refused(body: bytes) -> None:
    """What is not strict JSON is refused with a reason, never with an exception of another kind."""
    with pytest.raises(JsonInvalid):
        read_json(body)


def test_64_levels_are_read() -> None:
    """The deepest body that is allowed is read as it is."""
    assert read_json(b"[" * 64 + b"1" + b"]" * 64) == json.loads("[" * 64 + "1" + "]" * 64)


def test_plain_json_comes_in() -> None:
    """Ordinary bodies are read as they are, also beyond ASCII."""
    assert read_json('{"a": [1, 2.5, "é🙂", null, true]}'.encode()) == {
        "a": [1, 2.5, "é🙂", None, True]
    }
