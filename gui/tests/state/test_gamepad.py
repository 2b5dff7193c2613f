"""What a gamepad means in a play."""

import pytest

from mosaic_contracts.play import AxisRange
from mosaic_gui.state.gamepad import PadState, pad_axes, pad_keys

STEER, GAS, BRAKE = AxisRange(low=-1, high=1), AxisRange(low=0, high=1), AxisRange(low=0, high=1)


@pytest.mark.parametrize(
    ("pad", "axes"),
    [
        (PadState(), ()),
        (PadState(left_x=0.1, left_y=-0.14), ()),
        (PadState(left_x=-1.0), (-1.0, -1.0, -1.0)),
        (PadState(right_trigger=1.0), (0.0, 1.0, -1.0)),
        (PadState(left_trigger=1.0, left_x=1.0), (1.0, -1.0, 1.0)),
    ],
)
def test_sticks_steer_and_triggers_are_gas_and_brake(
    pad: PadState, axes: tuple[float, ...]
) -> None:
    """At rest there are no axes, so that keys act; a trigger at rest is the lowest value of its part."""
    assert pad_axes(pad, [STEER, GAS, BRAKE]) == pytest.approx(axes)


def test_parts_beyond_the_sticks_stay_in_the_middle() -> None:
    """An action of six parts has four sticks."""
    axes = pad_axes(PadState(left_y=1.0), [STEER] * 6)
    assert axes == (0.0, 1.0, 0.0, 0.0, 0.0, 0.0)


def test_the_stick_is_the_arrow_keys_where_it_is_no_axis() -> None:
    """The cross is the arrow keys everywhere; a key that both hold is held once."""
    pad = PadState(left_x=-0.9, left_y=0.2, buttons=frozenset({"dpad_left", "a"}))
    assert pad_keys(pad, has_axes=False) == ("left", "space")
    assert pad_keys(PadState(left_y=-0.6), has_axes=False) == ("down",)
    assert pad_keys(PadState(left_x=0.9), has_axes=True) == ()
