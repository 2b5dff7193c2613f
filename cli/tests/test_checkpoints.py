"""`checkpoints` against a double of the gateway; tests/e2e has it on a real stack."""

from pathlib import Path
from typing import Any

import pytest
from tests.gateway_double import OF_RUN, RUN, RUN_ID, Answers, Mosaic, strict

OTHER = RUN_ID[:-1] + "W"
ROW: dict[str, Any] = {
    "run_id": RUN_ID,
    "run_name": "a",
    "kind": "train",
    "worker": "cleanrl",
    "algorithm": "ppo",
    "environment": "CartPole-v1",
    "path": "checkpoints/best.pt",
    "bytes": 2048,
    "step": 49664,
    "t": 1767225600.0,
    "mean_return_20": 487.25,
    "evaluation": {"run_id": RUN_ID, "mean": 445.2, "standard_error": 7.61, "episodes": 20, "t": 1.0},
    "marks": ["best", "newest"],
    "state": "present",
}  # fmt: skip
OLD = ROW | {"path": "a.pt", "mean_return_20": None, "evaluation": None, "marks": [], "state": "missing"}  # fmt: skip


@pytest.fixture(autouse=True)
def saved(answers: Answers) -> None:
    """A checkpoint with all facts, and one of an older run whose file is gone."""
    answers["/api/v1/checkpoints"] = {"checkpoints": [ROW, OLD], "next_cursor": None}


def test_checkpoints_are_listed(mosaic: Mosaic, answers: Answers) -> None:
    """One line each; what nobody recorded is unknown; filters and order are those of the interface."""
    code, out, _ = mosaic("checkpoints", "-e", "CartPole-v1", "--sort", "return", "--asc")
    assert code == 0
    best, old = out.splitlines()[1:]
    for word in ("checkpoints/best.pt", "ppo CartPole-v1", "49,664", "487.2", "445.2 ± 7.6"):
        assert word in best
    assert best.rstrip().endswith("best newest")
    assert "unknown" in old
    assert old.rstrip().endswith("missing")
    query = answers.last("GET").query
    assert {name: query[name] for name in ("environment", "sort", "order")} == {
        "environment": ["CartPole-v1"],
        "sort": ["return"],
        "order": ["asc"],
    }
    _, out, _ = mosaic("checkpoints", "--json")
    assert strict(out) == [ROW, OLD]


def test_more_than_is_shown_is_said(mosaic: Mosaic) -> None:
    """A cut list says how to see the rest."""
    _, out, err = mosaic("checkpoints", "--limit", "1")
    assert len(out.splitlines()) == 2
    assert "--limit 5" in err


def test_verify_names_what_differs(mosaic: Mosaic, answers: Answers) -> None:
    """All runs are verified where none is named; a difference is exit code 7."""
    answers[f"POST {OF_RUN}/checkpoints/verify"] = [ROW, OLD]
    code, out, err = mosaic("checkpoints", "verify")
    assert (code, out.strip()) == (7, f"missing: {RUN_ID}/a.pt")
    assert "1 checkpoint as recorded, 1 altered or missing." in err
    answers[OF_RUN] = RUN
    answers[f"POST {OF_RUN}/checkpoints/verify"] = [ROW]
    code, out, _ = mosaic("checkpoints", "verify", f"{RUN_ID}/checkpoints/best.pt", "--json")
    assert (code, strict(out)) == (0, [ROW])
    assert answers.last("POST").query == {"path": ["checkpoints/best.pt"]}


def test_the_export_of_a_play_is_that_of_its_training(
    mosaic: Mosaic, answers: Answers, tmp_path: Path
) -> None:
    """`last` may be a play, which has no checkpoints; and the file has a name that every system takes."""
    spec = RUN["spec"] | {"kind": "play", "parent": OTHER}
    answers[OF_RUN] = RUN | {"name": "try: a/b", "spec": spec}
    answers[f"/api/v1/runs/{OTHER}/checkpoints/export"] = {}
    code, _, err = mosaic("checkpoints", "export", f"{RUN_ID}/best", "-o", str(tmp_path))
    assert (code, err) == (0, f"{tmp_path / 'try-a-b-best.zip'}: 2 B\n")
    assert (tmp_path / "try-a-b-best.zip").read_bytes() == b"{}"
