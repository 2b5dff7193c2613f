"""Bytes of actions and observations become what the space says, or say that they are bytes."""

import struct
from typing import Any

import pytest
from pydantic_core import from_json, to_json

from mosaic_contracts.builtin_values import MAX_LEVELS, TOO_DEEP, event_to_builtin, to_builtin

BOX = {"kind": "box", "dtype": "<f4", "shape": [2]}
IMAGE = {"kind": "box", "dtype": "|u1", "shape": [1, 2, 1]}
PAIR = struct.pack("<2f", 1.5, -2.0)


@pytest.mark.parametrize(
    ("raw", "space", "plain"),
    [
        (PAIR, BOX, [1.5, -2.0]),
        (b"\x01\xff", IMAGE, [[[1], [255]]]),
        (struct.pack("<q", -3), {"kind": "discrete", "n": 5}, -3),
        (b"\x02", {"kind": "discrete", "n": 5}, 2),
        (struct.pack("<2q", 1, 2), {"kind": "multi_discrete", "nvec": [3, 3]}, [1, 2]),
        (b"\x01\x02", {"kind": "multi_discrete", "nvec": [3, 3]}, [1, 2]),
        ({"a": PAIR}, {"kind": "dict", "spaces": {"a": BOX}}, {"a": [1.5, -2.0]}),
        (
            b"\x01\xff" + PAIR,
            {"kind": "dict", "spaces": {"z": BOX, "a": IMAGE}},
            {"a": [[[1], [255]]], "z": [1.5, -2.0]},
        ),
        ([0.5, PAIR], BOX, [0.5, "base64:AADAPwAAAMA="]),
        (struct.pack(">2f", 1.5, -2.0), {"kind": "box", "dtype": ">f4", "shape": [2]}, [1.5, -2.0]),
        (
            struct.pack("<2e", 1.5, -2.0),
            {"kind": "box", "dtype": "<f2", "shape": [1, 2]},
            [[1.5, -2.0]],
        ),
        (struct.pack("<f", 1.5), {"kind": "box", "dtype": "float32", "shape": []}, 1.5),
        (b"\x01\x00", {"kind": "box", "dtype": "bool", "shape": [2]}, [True, False]),
        (b"", {"kind": "box", "dtype": "|u1", "shape": [2, 0]}, [[], []]),
        (
            struct.pack("<4i", 1, 2, 3, 4),
            {"kind": "multi_discrete", "nvec": [[2, 2], [2, 2]]},
            [[1, 2], [3, 4]],
        ),
    ],
)
def test_bytes_are_explained_by_the_space(raw: Any, space: dict[str, Any], plain: Any) -> None:
    """Little-endian, C order, as dtype and shape say."""
    assert to_builtin(raw, space) == plain


@pytest.mark.parametrize(
    "space",
    [
        None,
        {"kind": "other", "repr": "Tuple(...)"},
        {"kind": "box", "dtype": "<f4", "shape": [3]},
        {"kind": "box", "dtype": "O", "shape": [1]},
        {"kind": "box", "dtype": "nonsense", "shape": [2]},
        {"kind": "box", "dtype": "<f4", "shape": [-1]},
        {"kind": "box", "dtype": "<f4", "shape": "x"},
        {"kind": "box"},
        {"kind": "multi_discrete", "nvec": [2, 2, 2]},
        {"kind": "multi_discrete", "nvec": 5},
        {"kind": "multi_discrete", "nvec": [[1], 2]},
        {"kind": "dict", "spaces": {"a": BOX, "b": BOX}},
        {"kind": "dict", "spaces": {"a": {"kind": "other"}}},
        {"kind": ["box"]},
    ],
)
def test_what_no_space_explains_is_marked_text(space: dict[str, Any] | None) -> None:
    """A space that does not fit, or is nonsense, never raises and never guesses."""
    assert to_builtin(PAIR, space) == "base64:AADAPwAAAMA="


@pytest.mark.parametrize("depth", [MAX_LEVELS, MAX_LEVELS + 1, 255, 400, 700, 990])
@pytest.mark.parametrize("form", ["lists", "maps"])
def test_an_event_of_any_depth_can_be_shown(form: str, depth: int) -> None:
    """A value below the last level that is shown is replaced by words; every writer of JSON can write the rest."""
    value: Any = 1
    for _ in range(depth):
        value = [value] if form == "lists" else {"a": value}
    shown = event_to_builtin({"type": "my.event", "data": {"deep": value}}, None)
    text = to_json(shown)
    assert from_json(text) == shown
    assert (TOO_DEEP.encode() in text) == (depth >= MAX_LEVELS)
