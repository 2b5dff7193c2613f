"""Groups on the command line: what is sent for lists of values; list, stop, retry and delete of a group."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.gateway_double import RUN, RUN_ID, Answers, Mosaic

from mosaic_cli.errors import ValueRefused
from mosaic_cli.grouping import rough_duration
from mosaic_cli.run_axes import read_axes
from mosaic_contracts.worker import WorkerDescription

GROUP_ID = f"g{RUN_ID}"
OF_GROUP = f"/api/v1/groups/{GROUP_ID}"
GROUP: dict[str, Any] = {
    "group_id": GROUP_ID,
    "kind": "group",
    "name": "ppo CartPole-v1: 2 seeds",
    "created_at": "2026-01-01T00:00:00Z",
    "worker": "cleanrl",
    "algorithm": "ppo",
    "environments": ["CartPole-v1"],
    "total": 3,
    "counts": {"succeeded": 1, "failed": 1, "running": 1},
    "run_ids": [RUN_ID],
    "best_return": 21.0,
}
PLAN = {
    "ok": True,
    "runs": 6,
    "expected_s": 540.0,
    "name": "ppo: 2 lr × 3 seeds",
    "names": ["ppo a"],
}
RUN_WORDS = ("run", "cleanrl", "ppo", "CartPole-v1")


@pytest.fixture(autouse=True)
def known(answers: Answers) -> None:
    """A stack with one group."""
    answers["/api/v1/groups"] = {"groups": [GROUP]}
    answers["/api/v1/groups/check"] = PLAN
    answers["POST /api/v1/groups"] = GROUP
    answers[OF_GROUP] = GROUP
    answers["/api/v1/workers/cleanrl"] = {
        "manifest": {"id": "cleanrl", "title": "CleanRL", "command": ["x"]},
        "ready": True,
    }


@pytest.mark.parametrize(
    ("params", "lists", "fixed"),
    [
        (["lr=0.1"], {}, {"lr": 0.1}),
        (["lr=1e-4,1e-3"], {"lr": [1e-4, 1e-3]}, {}),
        (["a=true,false", "b=x,y"], {"a": [True, False]}, {"b": "x,y"}),
        (['opt=["adam", "sgd"]'], {"opt": ["adam", "sgd"]}, {}),
        (["opt=[1]"], {"opt": [1]}, {}),
        (['map={"a": [1, 2]}'], {}, {"map": '{"a": [1, 2]}'}),
        (["name=1,x"], {}, {"name": "1,x"}),
    ],
)
def test_lists_of_values_make_axes(
    params: list[str], lists: dict[str, Any], fixed: dict[str, Any]
) -> None:
    axes = read_axes("1-3,7", params)
    assert (axes.seeds, axes.parameters, axes.fixed) == ([1, 2, 3, 7], lists, fixed)


@pytest.mark.parametrize(
    ("seed", "params", "words"),
    [
        ("one", [], "'one' is no seed"),
        ("5-1", [], "write 1-5"),
        ("1-5000", [], "more seeds than the 1000"),
        ("-1", [], "is no seed"),
        ("1", ["a=1", "a=2,3"], "given twice"),
        ("1", ["a"], "write -p key=value"),
        ("1", ["a=[[1]]"], "takes one value"),
    ],
)
def test_what_is_no_list_is_refused(seed: str, params: list[str], words: str) -> None:
    with pytest.raises(ValueRefused, match=words):
        read_axes(seed, params)


def test_a_parameter_of_text_takes_its_commas(mosaic: Mosaic, answers: Answers) -> None:
    """`-p layers=64,64` is one value where the algorithm takes text, and a list where it takes numbers."""
    schema = {"layers": {"type": "string"}, "lr": {"type": "number"}}
    description = WorkerDescription.model_validate(
        {
            "worker": "w", "version": "1", "title": "W", "record_levels": [], "environments": [],
            "algorithms": [{"id": "ppo", "title": "PPO", "parameters": {"properties": schema}}],
        }
    )  # fmt: skip
    axes = read_axes(None, ["layers=64,64", "lr=0.1,0.2"]).with_texts(description, "ppo")
    assert (axes.parameters, axes.fixed) == ({"lr": [0.1, 0.2]}, {"layers": "64,64"})


def test_run_starts_a_group(mosaic: Mosaic, answers: Answers) -> None:
    """The plan is shown first; the lists are sent as lists, all else as the spec of each run."""
    words = ("--seed", "1-3", "-p", "lr=0.1,0.2", "-p", "gamma=0.9", "--name", "mine", "-d")
    code, out, err = mosaic(*RUN_WORDS, *words)
    assert (code, out) == (0, f"{GROUP_ID}\n")
    assert "6 runs, about 9 min" in err
    sent = answers.last("POST").body
    assert (sent["seeds"], sent["parameters"], sent["name"]) == (
        [1, 2, 3],
        {"lr": [0.1, 0.2]},
        "mine",
    )
    assert sent["run"]["parameters"] == {"gamma": 0.9}
    assert "name" not in sent["run"]


def test_a_plan_that_is_refused_starts_nothing(mosaic: Mosaic, answers: Answers) -> None:
    answers["/api/v1/groups/check"] = {
        "ok": False,
        "findings": [
            {"level": "blocking", "where": "parameters.lr", "message": "must be positive"}
        ],
    }
    code, _, err = mosaic(*RUN_WORDS, "--seed", "1,2")
    assert code == 2
    assert "none was" in err
    assert "parameters.lr: must be positive" in err
    assert answers.last("POST").path == "/api/v1/groups/check"


def test_one_seed_is_one_run(mosaic: Mosaic, answers: Answers) -> None:
    """A check takes one seed and one value only; text with commas is text there."""
    assert mosaic("check", *RUN_WORDS[1:], "--seed", "7", "-p", "layers=64,64")[0] == 0
    sent = answers.last("POST").body
    assert (sent["seed"], sent["parameters"]) == (7, {"layers": "64,64"})
    code, _, err = mosaic("check", *RUN_WORDS[1:], "--seed", "1-3")
    assert (code, "takes one seed" in err) == (2, True)


def test_ps_shows_a_group_as_a_row(mosaic: Mosaic, answers: Answers) -> None:
    """A filter, a search, --flat and --json list runs one by one."""
    code, out, _ = mosaic("ps")
    assert code == 0
    assert "group ppo CartPole-v1: 2 seeds" in out
    assert "running 1/3, 1 failed" in out
    assert [one.query["members"] for one in answers.asked if one.path == "/api/v1/runs"] == [
        ["false"]
    ]
    for words in (("--flat",), ("state:failed",), ("--json",), ("--group", "last")):
        mosaic("ps", *words)
        asked = [one for one in answers.asked if one.path == "/api/v1/runs"]
        assert "members" not in asked[-1].query
    assert asked[-1].query["group"] == [GROUP_ID]


def test_a_group_is_stopped_retried_deleted_and_restored(mosaic: Mosaic, answers: Answers) -> None:
    """By its id, a beginning of it, or its name."""
    answers[f"POST {OF_GROUP}/stop"] = GROUP
    assert "asked to stop" in mosaic("stop", GROUP_ID[:8])[2]
    answers[f"POST {OF_GROUP}/retry"] = GROUP
    assert mosaic("retry", GROUP["name"], "--stopped", "-d")[1] == f"{GROUP_ID}\n"
    assert answers.last("POST").body == {"cancelled": True}
    answers[f"DELETE {OF_GROUP}"] = GROUP | {"deleted": True}
    assert f"restore {GROUP_ID}" in mosaic("rm", GROUP_ID.lower())[2]
    answers[f"POST {OF_GROUP}/restore"] = GROUP
    assert "is back" in mosaic("restore", GROUP_ID)[2]
    code, _, err = mosaic("stop", "g7")
    assert (code, "There is no group 'g7'" in err) == (4, True)


@pytest.mark.parametrize("text", [GROUP_ID, GROUP_ID[:9].lower(), GROUP["name"]])
def test_an_archived_group_is_found_by_beginning_and_name(
    mosaic: Mosaic, answers: Answers, text: str
) -> None:
    """The list of groups has none that is archived: its runs name it."""
    place = {"group_id": GROUP_ID, "name": GROUP["name"], "place": 0}
    answers["/api/v1/groups"] = {"groups": []}
    answers["/api/v1/runs"] = {"runs": [RUN | {"group": place}]}
    answers[f"POST {OF_GROUP}/restore"] = GROUP
    code, _, err = mosaic("restore", text)
    assert (code, f"{GROUP_ID} is back" in err) == (0, True)
    assert answers.last("POST").path == f"{OF_GROUP}/restore"


@pytest.mark.parametrize("text", ["g0", "g00000", "g0UUUUUUUUUUUUUUUUUUUUUUUUU", "nothing"])
def test_what_names_no_archived_group_is_refused_in_words(mosaic: Mosaic, text: str) -> None:
    code, _, err = mosaic("restore", text)
    assert code == 4
    assert "/api" not in err
    assert "./mosaic ps" in err


@pytest.mark.parametrize("text", [RUN_ID, "a run"])
def test_the_archive_of_a_sweep_has_its_trials(
    mosaic: Mosaic, answers: Answers, tmp_path: Path, text: str
) -> None:
    """Its own run comes first; a trial that has not ended is named, and nothing is written."""
    trial = RUN | {"run_id": f"{RUN_ID[:-1]}0", "name": "trial 0", "state": "running"}
    sweep = RUN | {"spec": RUN["spec"] | {"kind": "sweep"}}
    answers["/api/v1/runs"] = {"runs": [sweep, trial]}
    answers[f"/api/v1/runs/{RUN_ID}"] = sweep
    answers[f"/api/v1/runs/{trial['run_id']}"] = trial
    target = tmp_path / "sweep.mosaic.zip"
    code, _, err = mosaic("archive", text, "-o", str(target))
    assert (code, f"Run {trial['run_id']} is running" in err) == (6, True)
    assert any(asked.query.get("group") == [RUN_ID] for asked in answers.asked)
    assert not target.exists()


def test_a_group_without_a_failed_run_is_not_retried(mosaic: Mosaic, answers: Answers) -> None:
    """That is said and is no error; a script reads the group."""
    answers[f"POST {OF_GROUP}/retry"] = {
        "status": 409,
        "code": "run_ended",
        "title": "No run of the group has failed",
        "detail": "3 of 3 runs succeeded, 0 have not ended.",
    }
    code, out, err = mosaic("retry", GROUP_ID)
    assert (code, out) == (0, "")
    assert "Nothing was started" in err
    assert "3 of 3 runs succeeded" in err
    code, out, _ = mosaic("retry", GROUP_ID, "--json")
    assert (code, json.loads(out)["group_id"]) == (0, GROUP_ID)


def test_run_follows_a_group_to_its_end(mosaic: Mosaic, answers: Answers) -> None:
    """Each run has a line as it ends; a group with a failed run ends with exit code 1."""
    ended = GROUP | {"counts": {"failed": 1}, "total": 1}
    answers["POST /api/v1/groups"] = ended
    answers["/api/v1/runs"] = {"runs": [RUN | {"state": "failed"}]}
    code, out, err = mosaic(*RUN_WORDS, "--seed", "1,2")
    assert code == 1
    assert "1/1" in err
    assert "1 failed" in out
    assert f"./mosaic retry {GROUP_ID}" in err


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "1 s"), (40, "40 s"), (540, "9 min"), (9000, "2 h"), (200_000, "2 days")],
)
def test_rough_durations(seconds: float, words: str) -> None:
    assert rough_duration(seconds) == words


def test_diff_shows_what_differs(mosaic: Mosaic, answers: Answers) -> None:
    """A column a run, named by what sets it apart; --all shows what is equal; strict JSON with --json."""
    other = RUN_ID[:-1] + "W"
    spec = RUN["spec"] | {"parameters": {"learning_rate": 0.1}}
    answers[f"/api/v1/runs/{other}"] = RUN | {"run_id": other, "spec": spec}
    for run_id, torch in ((RUN_ID, "2.0"), (other, "2.1")):
        answers[f"/api/v1/runs/{run_id}/metrics"] = [
            {"name": "losses/entropy", "points": 1, "last_step": 1, "last_value": 0.5}
        ]
        config = {"type": "config", "data": {"packages": {"torch": torch, "numpy": "1"}}}
        page = {"events": [config], "cursor": "", "has_more": False}
        answers[f"/api/v1/runs/{run_id}/events"] = page
    code, out, _ = mosaic("diff", RUN_ID, other)
    assert code == 0
    assert "torch" in out
    assert "learning_rate" in out
    assert "numpy" not in out
    assert "numpy" in mosaic("diff", RUN_ID, other, "--all")[1]
    found = json.loads(mosaic("diff", RUN_ID, other, "--json")[1])
    assert [run["run_id"] for run in found["runs"]] == [RUN_ID, other]
    torch_row = next(row for row in found["rows"] if row["name"] == "torch")
    assert torch_row == {
        "section": "Packages", "name": "torch", "values": ["2.0", "2.1"], "equal": False,
    }  # fmt: skip
    code, _, err = mosaic("diff", RUN_ID)
    assert (code, "at least two runs" in err) == (2, True)
