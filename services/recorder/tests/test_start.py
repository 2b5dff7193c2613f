"""What the recorder does not import, so that a stack starts quickly."""

from mosaic_servicekit.testing.start import imported_at_start

SELDOM = (
    "numpy.linalg",
    "mosaic_contracts.services",
    "mosaic_contracts.spec",
    "mosaic_contracts.verbs",
)


def test_a_recorder_imports_neither_specs_nor_the_arithmetic_of_curves() -> None:
    """It needs the models of its own verbs, and numpy when the 512 points of a chunk are there."""
    assert imported_at_start("mosaic_recorder.__main__", SELDOM) == []
