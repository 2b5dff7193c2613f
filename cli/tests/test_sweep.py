"""`sweep`: a spec is checked and started, its trials are shown and exported, and the best is a spec for `run`."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.gateway_double import RUN, RUN_ID, Answers, Mosaic

from mosaic_cli.sweeping import best_specs
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.sweeps import SweepView

SWEEP: dict[str, Any] = {
    "run": RUN["spec"],
    "parameters": {"gamma": {"type": "float", "low": 0.9, "high": 0.99}},
    "seeds": [1, 2],
}
OF_SWEEP = f"/api/v1/sweeps/{RUN_ID}"
SPEC = {"worker": "sweep", "algorithm": "optuna", "environment": "CartPole-v1", "kind": "sweep"}
THE_RUN = {**RUN, "name": "Search", "spec": SPEC}
TRIALS = [
    {
        "number": number,
        "state": state,
        "parameters": {"gamma": 0.9 + number / 100},
        "values": values,
        "runs": {f"{number}/CartPole-v1/1": RUN_ID},
        "steps": 2_000,
        "started": 1.0,
        "reason": reason,
    }
    for number, state, values, reason in (
        (1, "complete", [21.5], ""),
        (0, "failed", None, "it printed a line\nand another"),
    )
]
VIEW = {
    "run_id": RUN_ID,
    "sweep": SWEEP,
    "counts": {"complete": 1, "failed": 1},
    "best": [TRIALS[0]],
    "steps": 4_000,
    "importance": {"trials": 1, "importances": {"gamma": 1.0}},
}
BEST = {**RUN["spec"], "parameters": {"gamma": 0.91}, "seed": 1, "name": "Search #1"}


@pytest.fixture
def sweeps(answers: Answers) -> Answers:
    """A stack with one sweep."""
    page = {"runs": [THE_RUN], "next_cursor": None}
    check = {"ok": True, "findings": [], "plan": {"trials": 20, "runs": 40}}
    trials = {"trials": TRIALS, "cursor": "1.9", "has_more": False}
    answers |= {
        "/api/v1/runs": page,
        f"/api/v1/runs/{RUN_ID}": THE_RUN,
        "POST /api/v1/sweeps": THE_RUN,
        "POST /api/v1/sweeps/check": check,
        OF_SWEEP: VIEW,
        f"{OF_SWEEP}/trials": trials,
        f"{OF_SWEEP}/best": BEST,
        f"{OF_SWEEP}/study": b"SQLite format 3\0",
        f"POST {OF_SWEEP}/stop": {**THE_RUN, "state": "stopping"},
        f"POST {OF_SWEEP}/resume": THE_RUN,
    }
    return answers


def test_a_sweep_is_checked_and_started(mosaic: Mosaic, sweeps: Answers, tmp_path: Path) -> None:
    """The word `start` may be left out. What is wrong is named by its field, and nothing is started then."""
    file = tmp_path / "sweep.yaml"
    file.write_text(json.dumps(SWEEP))
    code, said, _ = mosaic("sweep", str(file), "--dry-run")
    assert (code, "runs             40" in said) == (0, True)
    assert not [asked for asked in sweeps.asked if asked.path == "/api/v1/sweeps"]
    code, said, _ = mosaic("sweep", "--json", str(file))
    assert (code, json.loads(said)["run_id"]) == (0, RUN_ID)
    assert sweeps.last("POST").body["parameters"] == {
        "gamma": {**SWEEP["parameters"]["gamma"], "log": False, "step": None, "when": None}
    }
    finding = {"level": "blocking", "where": "sweep.run.cpus", "message": "needs 64 cores"}
    sweeps["POST /api/v1/sweeps/check"] = {"ok": False, "findings": [finding]}
    code, _, error = mosaic("sweep", "start", str(file))
    assert (code, "sweep.run.cpus: needs 64 cores" in error) == (2, True)
    file.write_text("run: {}\nparameter: {}\n")
    code, _, error = mosaic("sweep", str(file))
    assert (code, "Did you mean" in error) == (2, True)
    file.write_text(json.dumps({**SWEEP, "seeds": [1, 1]}))
    assert "\n  seeds must not contain a value twice." in mosaic("sweep", str(file))[2]


def test_a_sweep_is_shown_followed_stopped_and_resumed(mosaic: Mosaic, sweeps: Answers) -> None:
    """`last` is the newest sweep; each trial is one line, whatever its reason holds."""
    code, said, _ = mosaic("sweep", "show")
    assert code == 0
    assert "2 of 20 trials: 1 complete, 1 failed" in said
    assert "it printed a line and another" in said
    assert "#1 complete 21.50  gamma=0.91" in said
    assert sweeps.asked[0].query["kind"] == ["sweep"]
    code, said, _ = mosaic("sweep", "show", RUN_ID, "--json")
    assert [trial["number"] for trial in json.loads(said)["trials"]] == [0, 1]
    code, _, shown = mosaic("sweep", "show", "--follow")
    assert (code, shown.count("#0 failed")) == (0, 1)
    assert mosaic("sweep", "stop", "--let-finish")[0] == 0
    assert sweeps.last("POST").body == {"let_finish": True}
    assert mosaic("sweep", "resume", "--trials", "60")[0] == 0
    assert sweeps.last("POST").body["budget"]["trials"] == 60
    nans = {**TRIALS[1], "reason": "nan, " * 500 + "end"}
    sweeps[f"{OF_SWEEP}/trials"] = {"trials": [nans], "cursor": "2.9", "has_more": False}
    _, said, _ = mosaic("sweep", "show")
    assert (said.count("nan") < 60, "end" in said) == (True, False)
    assert "end" in mosaic("sweep", "show", "--json")[1]
    why = "None of the 3 trials was completed; each says why."
    end = {"cause": "exit_code", "message": "Exit code 1.", "last_lines": ["before", why]}
    failed = {**THE_RUN, "state": "failed", "end": end}
    sweeps["/api/v1/runs"] = {"runs": [failed], "next_cursor": None}
    _, said, error = mosaic("sweep", "show")
    assert (why in said + error, "before" in said + error) == (True, False)
    sweeps[f"/api/v1/runs/{RUN_ID}"] = RUN
    code, _, error = mosaic("sweep", "show", RUN_ID)
    assert (code, "is no sweep" in error) == (2, True)


def test_ps_lists_the_sweep_and_not_its_runs(mosaic: Mosaic, sweeps: Answers) -> None:
    """They are asked for by `--trials`, or with their sweep as `--parent`."""
    code, said, error = mosaic("ps")
    assert (code, "optuna" in said, "--parent SWEEP" in error) == (0, True, True)
    assert sweeps.asked[-1].query["trials"] == ["false"]
    for words in (("--trials",), ("--parent", RUN_ID)):
        assert mosaic("ps", *words)[0] == 0
        assert "trials" not in sweeps.asked[-1].query


def test_the_best_is_a_spec_and_an_export_has_everything(
    mosaic: Mosaic, sweeps: Answers, tmp_path: Path
) -> None:
    """YAML that `run -f` takes; a folder with the trials as CSV and JSON, the best, and the study."""
    code, said, _ = mosaic("sweep", "best")
    best = YAML(typ="safe", pure=True).load(said)
    assert code == 0
    assert RunSpec.model_validate(best) == RunSpec.model_validate(BEST)
    code, said, _ = mosaic("sweep", "export", "--to", str(tmp_path / "out"))
    assert code == 0
    rows = list(csv.DictReader((tmp_path / "out" / "trials.csv").read_text().splitlines()))
    assert [row["parameter_gamma"] for row in rows] == ["0.9", "0.91"]
    assert [row["value_0"] for row in rows] == ["", "21.5"]
    assert len(json.loads((tmp_path / "out" / "trials.json").read_text())["trials"]) == 2
    assert (tmp_path / "out" / "study.db").read_bytes().startswith(b"SQLite")
    sweeps["POST /api/v1/runs"] = RUN
    assert mosaic("sweep", "best", "--run", "-n", "2")[0] == 0
    sent = [asked.body for asked in sweeps.asked if asked.path == "/api/v1/runs" and asked.body]
    assert [(one["seed"], one["parent"]) for one in sent] == [(1000, RUN_ID), (1001, RUN_ID)]


def test_fresh_seeds_are_none_of_the_sweep() -> None:
    """In each of its environments, with a name that says the seed."""
    sweep = {**SWEEP, "environments": ["A-v0", "B-v0"], "seeds": [1_000, 1_002]}
    view = SweepView.model_validate({**VIEW, "sweep": sweep})
    specs = list(best_specs(RunSpec.model_validate(BEST), view, 2, 1_000))
    assert [(one.environment, one.seed) for one in specs] == [
        ("A-v0", 1_001),
        ("A-v0", 1_003),
        ("B-v0", 1_001),
        ("B-v0", 1_003),
    ]
    assert specs[0].name == "Search #1 seed 1001"
