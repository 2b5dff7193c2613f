"""Spaces by duck-typing: the SPACE dict and values in its form."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from mosaic_workerkit.spaces import encode_value, space_of


@dataclass
class Box:
    shape: tuple[int, ...]
    dtype: Any


@dataclass
class Discrete:
    n: Any
    start: int = 0


@dataclass
class MultiDiscrete:
    nvec: Any


@dataclass
class Dict:  # the name of gymnasium's class
    spaces: dict[str, Any] = field(default_factory=dict)


class Mystery:
    def __repr__(self) -> str:
        return "Mystery()"


BOX = {"kind": "box", "dtype": "<f4", "shape": [2]}


@pytest.mark.parametrize(
    ("space", "described"),
    [
        (Box((2,), np.float32), BOX),
        (Box((), ">i2"), {"kind": "box", "dtype": "<i2", "shape": []}),
        (Box((3, 1), np.uint8), {"kind": "box", "dtype": "|u1", "shape": [3, 1]}),
        (Discrete(np.int64(4)), {"kind": "discrete", "n": 4}),
        (Discrete(4, 2), {"kind": "discrete", "n": 4, "start": 2}),
        (MultiDiscrete(np.array([2, 3])), {"kind": "multi_discrete", "nvec": [2, 3]}),
        (Dict({"p": Box((2,), np.float32)}), {"kind": "dict", "spaces": {"p": BOX}}),
        (Mystery(), {"kind": "other", "repr": "Mystery()"}),
    ],
)
def test_space(space: Any, described: Any) -> None:
    """Each kind is described as docs/interfaces.md says."""
    assert space_of(space) == described


def test_values() -> None:
    """Values take the form of their space, whatever they came as."""
    assert encode_value({"kind": "discrete", "n": 4}, np.int64(3)) == 3
    assert encode_value(BOX, [1, 2]) == np.array([1, 2], "<f4").tobytes()
    assert encode_value(BOX, np.array([1, 2], ">f8")) == np.array([1, 2], "<f4").tobytes()
    assert encode_value({"kind": "multi_discrete", "nvec": [2, 3]}, np.array([1, 2])) == [1, 2]
    assert encode_value({"kind": "dict", "spaces": {"p": BOX}}, {"p": [0, 0]}) == {"p": bytes(8)}
    with pytest.raises(ValueError, match="shape"):
        encode_value(BOX, [1, 2, 3])
