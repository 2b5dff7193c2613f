"""What the small programs of a stack do not import."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "seldom"),
    [
        (
            "broker",
            ("pydantic", "structlog", "asyncio", "nats"),
        ),  # each start of a stack waits for it
        ("probe", ("nats.js.api", "mosaic_contracts.services", "mosaic_contracts.verbs")),
    ],
)
def test_a_small_program_imports_no_large_package(module: str, seldom: tuple[str, ...]) -> None:
    """It would take several times as long as its work."""
    look = (
        f"import sys, mosaic_servicekit.{module}\n"
        f"print([name for name in {seldom!r} if name in sys.modules])"
    )
    made = subprocess.run(
        [sys.executable, "-I", "-c", look], capture_output=True, text=True, check=True
    )
    assert made.stdout.strip() == "[]"
