"""Logging: JSON lines, and secrets that never show."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from mosaic_servicekit.logging import (
    HIDDEN,
    PatientLogger,
    Redactor,
    configure_logging,
    get_log,
    redactor,
)


@pytest.fixture(autouse=True)
def _no_log_stays() -> Iterator[None]:
    """What one test configured would write to its closed output from the next."""
    yield
    structlog.reset_defaults()


def test_known_names_are_hidden_and_similar_ones_are_not() -> None:
    """`token` is hidden, `num_memory_tokens` and `seed` are not."""
    cleaned = Redactor().clean(
        {"token": "abc", "num_memory_tokens": 4, "seed": 1, "in": [{"Password": "x"}]}
    )
    assert cleaned == {
        "token": HIDDEN,
        "num_memory_tokens": 4,
        "seed": 1,
        "in": [{"Password": HIDDEN}],
    }


def test_known_values_are_hidden_inside_text() -> None:
    """A value that was named a secret is replaced wherever it stands."""
    hides = Redactor()
    hides.hide("canary-4711")
    assert hides.clean_text("url?key=canary-4711&x=1") == f"url?key={HIDDEN}&x=1"
    with pytest.raises(ValueError, match="8 characters"):
        hides.hide("short")


def test_a_line_is_json_without_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    """A logged event is one JSON object with the service's name; a traceback is cleaned too."""
    configure_logging("test")
    redactor.hide("canary-0815")
    try:
        raise ValueError("failed with canary-0815")
    except ValueError as error:
        get_log().error("thing.failed", exc_info=error, token="t")
    line = json.loads(capsys.readouterr().err)
    assert line["event"] == "thing.failed"
    assert line["service"] == "test"
    assert line["token"] == HIDDEN
    assert "canary" not in json.dumps(line)


def test_a_log_that_cannot_be_written_ends_nothing(tmp_path: Path) -> None:
    """Lines are dropped while a disk is full, and the next line that can be written says how many."""
    with Path("/dev/full").open("w") as full:
        for _ in range(3):
            PatientLogger(full).warning("lost")
        with (tmp_path / "log").open("w+") as file:
            PatientLogger(file).info("kept")
            PatientLogger(file).info("kept too")
            file.seek(0)
            begun, lost, *kept = file.read().splitlines()
        assert (begun, json.loads(lost)["lines"], kept) == ("", 3, ["kept", "kept too"])
        with contextlib.suppress(OSError):
            full.close()
