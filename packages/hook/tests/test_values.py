"""What becomes a number, and what does not."""

import math
from typing import Any

import pytest

from mosaic_hook.values import number_of, step_of


class _Tensor:
    """Takes the place of a tensor with a gradient: PyTorch warns when it is made a number without `detach`."""

    def detach(self) -> float:
        """The value alone."""
        return 2.5

    def __float__(self) -> float:
        raise UserWarning("Converting a tensor with requires_grad=True to a scalar")


@pytest.mark.parametrize(
    ("value", "number"), [(1, 1.0), (True, 1.0), (_Tensor(), 2.5), ("1", None), ([1], None)]
)
def test_numbers(value: Any, number: float | None) -> None:
    """A tensor is detached first, so that nothing of the hook is in the script's output."""
    assert number_of(value) == number


@pytest.mark.parametrize(("value", "step"), [(3.7, 3), (-1, None), (math.nan, None), (None, None)])
def test_steps(value: Any, step: int | None) -> None:
    """A step is a whole number from 0."""
    assert step_of(value) == step
