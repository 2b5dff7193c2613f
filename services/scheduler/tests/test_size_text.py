"""Sizes in words."""

import pytest

from mosaic_scheduler.size_text import mib_text, size_text


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (1_023, "1023 B"),
        (2**20 - 1, "1023 KiB"),
        (300 * 2**20, "300 MiB"),
        (2**30 - 1, "1023 MiB"),
        (2**30, "1 GiB"),
        (24_105 * 2**20, "23.5 GiB"),
        (2**40, "1,024 GiB"),
    ],
)
def test_each_size_has_its_unit(size_bytes: int, text: str) -> None:
    """The largest unit of which there is one, rounded down, so that nothing seems to fit that does not."""
    assert size_text(size_bytes) == text


def test_numbers_of_specs_are_mib() -> None:
    """`memory_mb` and `gpu_memory_mb`."""
    assert mib_text(4_096) == "4 GiB"
