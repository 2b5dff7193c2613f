"""Patterns for names of curves."""

import pytest

from mosaic_gui.state.curve_pattern import matching

NAMES = [
    "episode/return",
    "charts/SPS",
    "losses/policy_loss",
    "losses/value_loss",
    "system/cpu_percent",
]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("", NAMES),
        ("losses/*", ["losses/policy_loss", "losses/value_loss"]),
        ("*/*return charts/*", ["episode/return", "charts/SPS"]),
        ("loss value", ["losses/value_loss"]),
        ("losses/* value", ["losses/value_loss"]),
        ("sps", ["charts/SPS"]),
        ("l?sses/[pv]*", ["losses/policy_loss", "losses/value_loss"]),
        ("nothing", []),
    ],
)
def test_curves_are_found(pattern: str, found: list[str]) -> None:
    """Whole names by signs, parts of names by words; capitals do not matter."""
    assert matching(NAMES, pattern) == found
