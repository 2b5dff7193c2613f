"""What the recorder does not import, so that a stack starts quickly."""

import subprocess
import sys

SELDOM = (
    "numpy.linalg",
    "mosaic_contracts.services",
    "mosaic_contracts.spec",
    "mosaic_contracts.verbs",
)


def test_a_recorder_imports_neither_specs_nor_the_arithmetic_of_curves() -> None:
    """It needs the models of its own verbs, and numpy when the 512 points of a chunk are there."""
    look = (
        "import sys, mosaic_recorder.__main__\n"
        f"print([name for name in {SELDOM!r} if name in sys.modules])"
    )
    made = subprocess.run(
        [sys.executable, "-I", "-c", look], capture_output=True, text=True, check=True
    )
    assert made.stdout.strip() == "[]"
