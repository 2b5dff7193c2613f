"""What the small programs of a stack do not import."""

import pytest

from mosaic_servicekit.testing.start import imported_at_start


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
    assert imported_at_start(f"mosaic_servicekit.{module}", seldom) == []
