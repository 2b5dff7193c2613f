"""Pauses grow, are bounded, and start again."""

from mosaic_base.backoff import JITTER, Backoff


def test_pauses_double_up_to_the_longest() -> None:
    """After a success the first pause is the shortest again."""
    backoff = Backoff(0.3, 2.0)
    assert [backoff.next_s() for _ in range(5)] == [0.3, 0.6, 1.2, 2.0, 2.0]
    backoff.reset()
    assert backoff.next_s() == 0.3


def test_jitter_spreads_them() -> None:
    """By a quarter each way, and the growth does not depend on chance."""
    backoff = Backoff(1.0, 4.0, jitter=JITTER)
    pauses = [backoff.next_s() for _ in range(200)]
    for pause, middle in zip(pauses, [1.0, 2.0, *[4.0] * 198], strict=True):
        assert 0.75 * middle <= pause <= 1.25 * middle
    assert len(set(pauses)) > 100
