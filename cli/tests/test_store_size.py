"""The size of the store, and what is wrong with it, in words."""

from datetime import UTC, datetime
from typing import Any

import pytest

from mosaic_cli.store_size import store_problem, store_text

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
CHECKPOINT = {"at": "2026-01-01T11:59:30Z", "busy": False, "frames": 12, "done": 12}
STORE: dict[str, Any] = {"file_bytes": 3 * 2**30, "free_bytes": 0, "wal_bytes": 2**20, "can_shrink": True}  # fmt: skip


def test_the_size_is_one_line() -> None:
    """File, free part, log, and the newest checkpoint where there was one."""
    assert store_text(STORE, NOW) == "3.0 GiB, 0 B of it free, write-ahead log 1.0 MiB"
    with_checkpoint = store_text(STORE | {"checkpoint": CHECKPOINT}, NOW)
    assert with_checkpoint.endswith(", checkpoint 30 s ago")
    held = store_text(STORE | {"checkpoint": CHECKPOINT | {"done": 2}}, NOW)
    assert held.endswith("30 s ago, 10 pages left")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, ""),
        ({"checkpoint": CHECKPOINT}, ""),
        ({"can_shrink": False}, "PYTHON -m mosaic_store.compact FILE"),
        ({"checkpoint": CHECKPOINT | {"frames": 30_000}}, "holds back its write-ahead log"),
    ],
)
def test_a_problem_says_what_to_do(changed: dict[str, Any], words: str) -> None:
    """A store that cannot shrink is rewritten; a program that holds the log back is closed."""
    problem = store_problem(STORE | changed, "PYTHON", "FILE")
    assert words in problem
    assert bool(problem) == bool(words)
