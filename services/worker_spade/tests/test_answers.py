"""`describe` and `check`: what can be asked for, and what is refused, in words."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import CheckReport, WorkerDescription
from mosaic_worker_spade.description import describe_worker
from mosaic_worker_spade.learning import choice
from mosaic_worker_spade.request import check_run
from mosaic_workerkit.check_worker.checker import CheckLimits, check_worker
from mosaic_workerkit.check_worker.worker_under_test import read_worker

ROOM = Path(__file__).resolve().parents[1]


def check(**fields: Any) -> CheckReport:
    """Check a spec, plain Q-learning on FrozenLake where nothing else is said."""
    spec = {"worker": "spade", "algorithm": "q_learning", "environment": "FrozenLake-v1", **fields}
    return check_run(RunSpec.model_validate(spec))


def refusal(report: CheckReport) -> tuple[str, str]:
    """Where the first blocking finding is, and its words."""
    blocking = [f for f in report.findings if f.level == "blocking"]
    assert not report.ok
    return blocking[0].where, blocking[0].message


@pytest.mark.parametrize(
    ("steps", "installed", "wish", "name", "reason"),
    [
        (4_999_999, True, "auto", "list", "compiling pays from 5,000,000 steps on"),
        (5_000_000, True, "auto", "compiled", "5,000,000 steps"),
        (5_000_000, False, "auto", "list", "sync worker_spade --bundle numba"),
        (100, True, "compiled", "compiled", "asked for"),
        (5_000_000, True, "list", "list", "asked for"),
    ],
)
def test_check_says_which_loop_runs_and_why(
    monkeypatch: pytest.MonkeyPatch, steps: int, installed: bool, wish: str, name: str, reason: str
) -> None:
    """The compiled loop is taken where it is installed and pays, or is asked for; the plan says so."""
    if not installed:
        monkeypatch.setattr(choice, "find_spec", lambda _name: None)
    loop = check(steps=steps, parameters={"loop": wish}).plan["loop"]
    assert loop["name"] == name
    assert reason in loop["reason"]


def test_a_loop_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without numba the compiled loop is no silent list loop: the refusal says how to have it. Nor is there a third."""
    assert refusal(check(parameters={"loop": "fast"}))[1].startswith("loop must be one of auto,")
    monkeypatch.setattr(choice, "find_spec", lambda _name: None)
    where, words = refusal(check(parameters={"loop": "compiled"}))
    assert where == "parameters.loop"
    assert "./mosaic sync worker_spade --bundle numba" in words


def test_description_is_enough_to_draw_a_grid() -> None:
    """Shape, kinds of cells and the moves of the actions of every world that lies on a grid are in the answer."""
    description = describe_worker()
    worlds = {world.id: world for world in description.environments}
    assert list(worlds) == [
        "FrozenLake-v1",
        "FrozenLake8x8-v1",
        "CliffWalking-v1",
        "CliffWalkingSlippery-v1",
        "Taxi-v4",
        "Taxi-v3",
    ]
    lake = worlds["FrozenLake-v1"].grid
    assert lake is not None
    assert lake.shape == [4, 4]
    assert lake.cells[1] == ["frozen", "hole", "frozen", "hole"]
    assert (lake.actions[0].name, lake.actions[0].move) == ("left", [0, -1])
    cliff, taxi = worlds["CliffWalking-v1"].grid, worlds["Taxi-v4"].grid
    assert cliff is not None
    assert cliff.cells[3][:2] + cliff.cells[3][-1:] == ["start", "cliff", "goal"]
    assert taxi is not None
    assert (taxi.states_per_cell, taxi.actions[4].move) == (20, None)


def test_description_says_what_runs_need() -> None:
    """Both algorithms go on from checkpoints; only the BDI one needs XMPP, with an account for each agent."""
    bdi, plain = describe_worker().algorithms
    assert (bdi.id, bdi.services, bdi.agents_parameter) == ("bdi_q", ["xmpp"], "agents")
    assert (plain.id, plain.services, plain.agents_parameter) == ("q_learning", [], None)
    assert bdi.warm_start
    assert plain.warm_start
    assert (bdi.tells, plain.tells) == (["bdi", "policy"], ["policy"])
    for algorithm in (bdi, plain):
        named = re.findall(r"^- (`.*?): ", algorithm.documentation, re.MULTILINE)
        assert {n for row in named for n in re.findall(r"`(\w+)`", row)} <= set(
            algorithm.parameters["properties"]
        )
        assert named
    texts = [p["description"] for p in bdi.parameters["properties"].values()]
    assert all(text.endswith(".") and len(text) > 15 for text in texts)


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    (
        {"algorithm": "bdi"},
        "algorithm",
        "There is no algorithm 'bdi' here. Known: bdi_q, q_learning.",
    ),
    ({"environment": "FrozenLke-v1"}, "environment", "Did you mean FrozenLake-v1?"),
    ({"environment": "Blackjack-v1"}, "environment", "has no transition table (`P`)"),
    ({"kind": "sweep"}, "kind", "no mode 'sweep'"),
    ({"kind": "evaluate"}, "parameters.checkpoint", "name one with the parameter `checkpoint`"),
    ({"parameters": {"gama": 0.9}}, "parameters.gama", "Did you mean gamma?"),
    ({"parameters": {"gamma": 1.5}}, "parameters.gamma", "gamma must be at most 1, not 1.5."),
    ({"parameters": {"alpha": 0}}, "parameters.alpha", "alpha must be more than 0, not 0.0."),
    (
        {"parameters": {"slippery": "no"}},
        "parameters.slippery",
        "slippery must be of type boolean (true or false, without quotes), not 'no'.",
    ),
    ({"parameters": {"agents": 2}}, "parameters.agents", "agents is for bdi_q only"),
    (
        {"parameters": {"map": "SFF/FXF/FFG"}},
        "parameters.map",
        "Row 2, column 2 of the map is 'X'.",
    ),
    (
        {"parameters": {"map": "SFF/FH"}},
        "parameters.map",
        "Row 2 of the map has 2 cells and row 1 has 3.",
    ),
    ({"parameters": {"map": "SHF/HHF/FFG"}}, "parameters.map", "No way leads from S to G"),
    ({"parameters": {"map": "FF/FG"}}, "parameters.map", "The map has no S, its start."),
    (
        {"environment": "Taxi-v4", "parameters": {"map": "SG"}},
        "environment",
        "`map` is for FrozenLake",
    ),
    ({"environment": "Taxi-v4", "parameters": {"slippery": True}}, "environment", "never slippery"),
    ({"steps": 5, "parameters": {"total_steps": 6}}, "parameters.total_steps", "is given twice"),
    (
        {"parameters": {"epsilon_start": 0.1, "epsilon_end": 0.2}},
        "parameters.epsilon_end",
        "exploration falls",
    ),
    (
        {"parameters": {"checkpoint": "/nowhere/a.npz"}},
        "parameters.checkpoint",
        "There is no checkpoint",
    ),
    (
        {"algorithm": "bdi_q", "environment": "Taxi-v4", "parameters": {"agents": 2}},
        "parameters.agents",
        "a state of Taxi-v4 is more than a place",
    ),
    (
        {"algorithm": "bdi_q", "parameters": {"plan": "!start.\n+!start <- .fly(1)."}},
        "parameters.plan",
        "plan, line 2, column 12: no such action '.fly/1'.",
    ),
    (
        {"algorithm": "bdi_q", "parameters": {"plan": "!go.\n+!start <- .finish."}},
        "parameters.plan",
        "plan, line 1, column 1: no plan is for the goal !go.",
    ),
    (
        {"algorithm": "bdi_q", "parameters": {"plan": "x(1)."}},
        "parameters.plan",
        "plan has no plan.",
    ),
    (
        {"algorithm": "bdi_q", "parameters": {"plan_file": "/nowhere/a.asl"}},
        "parameters.plan_file",
        "cannot be read",
    ),
]


@pytest.mark.parametrize(("fields", "where", "words"), REFUSED)
def test_what_cannot_run_is_refused_in_words(
    fields: dict[str, Any], where: str, words: str
) -> None:
    """Each finding names the field, and says what is wrong or what to write."""
    reported = refusal(check(**fields))
    assert reported[0] == where
    assert words in reported[1]


def test_a_syntax_error_in_a_file_has_line_and_column(tmp_path: Path) -> None:
    """The finding names the file, the line and the column of the fault."""
    (tmp_path / "mine.asl").write_text("!start.\n+!start : left(N <-\n  .finish.\n")
    report = check(algorithm="bdi_q", parameters={"plan_file": str(tmp_path / "mine.asl")})
    where, words = refusal(report)
    assert where == "parameters.plan_file"
    assert words.startswith("mine.asl, line 2, column 18: expected ')'")


def test_a_checkpoint_of_another_run_is_left_to_the_start() -> None:
    """In a container `check` has no files: a path within the run's folder to be is a warning, not a refusal."""
    report = check(kind="evaluate", parameters={"checkpoint": "inputs/checkpoint/final.npz"})
    assert report.ok
    assert "is seen when the run starts" in report.findings[0].message


def test_taxi_of_old_is_the_registry_s(tmp_path: Path) -> None:
    """A version that gymnasium took back becomes the one it has, with a warning."""
    report = check(environment="Taxi-v3")
    assert report.ok
    assert report.plan["environment"] == "Taxi-v4"
    assert report.findings[0].message.endswith("Taxi-v4 takes its place.")


def test_plan_is_exact() -> None:
    """`check` says the steps, the map and every parameter that a run would have."""
    report = check(steps=500, parameters={"map": "SFF/FHF/FFG", "option-steps": 50})
    assert report.ok
    assert report.plan["total_steps"] == 500
    assert report.plan["map"] == "SFF/FHF/FFG"
    assert report.plan["parameters"]["option_steps"] == 50
    assert report.plan["sampling"] == {"record_gap": 10_000, "episode_gap": 100, "replay_every": 1}
    assert check(replay_every=7).plan["sampling"]["replay_every"] == 7


def test_clips_are_refused_where_nothing_encodes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal names the command; elsewhere the cost is a warning."""
    warned = check(clip_every=100)
    assert warned.ok
    assert warned.findings[0].where == "clip_every"
    assert "slow the run down" in warned.findings[0].message
    assert refusal(check(clip_every=100, record="metrics"))[0] == "clip_every"
    monkeypatch.setattr("mosaic_gymkit.clips.find_spec", lambda _name: None)
    where, words = refusal(check(clip_every=100))
    assert where == "clip_every"
    assert "./mosaic sync worker_spade --bundle video" in words


LOOK = """
import sys
from mosaic_worker_spade.own_server import leave_out_own_server
from mosaic_worker_spade.worker import SpadeWorker
from mosaic_workerkit.entry import main
main(SpadeWorker(), ["describe"])
assert not {"spade", "agentspeak", "slixmpp"} & set(sys.modules)
leave_out_own_server()
import mosaic_worker_spade.team
assert "spade.container" in sys.modules
assert not {"pyjabber.db", "sqlalchemy", "alembic"} & set(sys.modules)
"""


def test_describe_imports_no_agents_and_a_run_no_server() -> None:
    """A client waits for `describe`: it answers JSON, and neither spade nor agentspeak is imported for it.

    The agents of a run come without the XMPP server that spade has, and without its database.
    """
    done = subprocess.run([sys.executable, "-c", LOOK], check=True, capture_output=True)
    assert WorkerDescription.model_validate(json.loads(done.stdout)).worker == "spade"


def test_plain_learning_keeps_the_workers_contract() -> None:
    """`check_worker` finds nothing wrong with plain Q-learning."""
    worker = read_worker(ROOM, Path(sys.executable).parents[2])
    report = check_worker(worker, CheckLimits(algorithms=("q_learning",)), lambda _word: None)
    assert [v for v in report.results if v.result == "failed"] == []
