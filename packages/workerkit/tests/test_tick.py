"""How long the shipper lets events gather."""

import pytest

from mosaic_workerkit.shipper.session import ENOUGH_EVENTS, LONGEST_TICK_S, TICK_S, next_tick


@pytest.mark.parametrize(
    ("rate", "settled"),
    [(0, LONGEST_TICK_S), (10, LONGEST_TICK_S), (500, 0.5), (1_000, 0.25), (100_000, TICK_S)],
)
def test_the_tick_settles_where_enough_events_gather(rate: int, settled: float) -> None:
    """A batch holds enough events at any steady rate, within the bounds; it does not swing."""
    tick_s = TICK_S
    ticks = [tick_s := next_tick(tick_s, int(rate * tick_s)) for _ in range(12)]
    assert ticks[-2:] == pytest.approx([settled] * 2, rel=0.05)


def test_a_burst_shortens_the_tick_at_once() -> None:
    """After a silence the tick at most doubles for each batch, and a burst brings it back in one."""
    assert next_tick(LONGEST_TICK_S, 100 * ENOUGH_EVENTS) == TICK_S
    assert next_tick(TICK_S, 0) == 2 * TICK_S
