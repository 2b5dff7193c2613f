"""`describe`: what a parameter can be, and why an algorithm cannot run, each once."""

import io
from typing import Any

import pytest
from rich.console import Console

from mosaic_cli.verbs import workers
from mosaic_contracts.worker import Algorithm


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What is printed, in wide lines."""
    text = io.StringIO()
    monkeypatch.setattr(workers, "out", Console(file=text, width=200))
    return text


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "number", "minimum": 0, "maximum": 1}, "number, 0 to 1"),
        ({"type": ["integer", "null"], "minimum": 1}, "integer | null, at least 1"),
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 1}, "number, more than 0, at most 1"),
        ({"type": "string", "enum": ["l1", "l2", None]}, "l1 | l2 | null"),
        (
            {"anyOf": [{"type": "integer", "maximum": 3}, {"type": "null"}]},
            "integer, at most 3 | null",
        ),
        ({"type": "boolean"}, "boolean"),
        ({"type": ["string", "null"], "x-checkpoint": True}, "checkpoint: RUN/last, or a path"),
    ],
)
def test_bounds_and_choices(shown: io.StringIO, schema: dict[str, Any], words: str) -> None:
    """The table of parameters says what is accepted."""
    parameters = {"properties": {"rate": {**schema, "default": None}}}
    workers._print_algorithm(Algorithm(id="a", title="A", parameters=parameters))
    assert f"  {words}" in shown.getvalue()


def test_a_reason_is_shown_once(shown: io.StringIO) -> None:
    """An algorithm that cannot run says so once, whether its documentation does or not."""
    for documentation in ("", "**It cannot run here.** No package."):
        algorithm = Algorithm(
            id="a", title="A", parameters={}, unavailable="No package.", documentation=documentation
        )
        shown.truncate(0)
        workers._print_algorithm(algorithm)
        assert shown.getvalue().count("No package.") == 1
