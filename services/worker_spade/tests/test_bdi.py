"""The agents at work: real runs, over a real ejabberd."""

import hashlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.run_folder import (
    TEMPORARY,
    TIMEOUT_S,
    Event,
    FinishedRun,
    finish,
    has,
    run,
    run_program,
    start,
    wait_for,
)
from tests.xmpp_server import LocalXmppServer

from mosaic_workerkit.testing.recorded import read_events

pytestmark = [pytest.mark.xmpp, pytest.mark.timeout(240)]

HEADSTRONG = """// Never learns: goes right, always.
!start.
+!start <- !!step.
+!step : left(N) & N <= 0 <- .finish.
+!step <- .act(2); !!step.
"""

PATIENT = "!go.\n+!go <- .option(learn, anneal, 300, budget); .wait(30); !!go."
"""Learns for as long as it is let, and leaves the processor to others in between."""


def bdi(
    folder: Path, access: Path, go: Callable[..., FinishedRun] = run, **fields: Any
) -> FinishedRun:
    """A BDI run to its end, which must be a good one; `go` runs it."""
    parameters = {"slippery": False, **fields.pop("parameters", {})}
    done = go(folder, access, algorithm="bdi_q", parameters=parameters, **fields)
    assert done.code == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def learned(server: LocalXmppServer, tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    """A run that has learned the small lake, as a program that imports everything itself."""
    folder = tmp_path_factory.mktemp("learned")
    access = server.write_access(folder / "access.json", 1)
    fields = {"steps": 12_000, "replay_every": 20, "parameters": {"episode_gap": 0}}
    return bdi(folder / "run", access, run_program, **fields)


@pytest.mark.nightly
def test_plans_lead_the_learning(learned: FinishedRun) -> None:
    """It discovers until it has met the goal, learns until exploration has fallen, then exploits, and says so."""
    options = [option["option"] for option in learned.data("bdi.option")]
    assert options[0] == "discover"
    assert options[-1] == "exploit"
    assert options == sorted(options, key=["discover", "learn", "exploit"].index)
    plans = [plan["plan"] for plan in learned.data("bdi.plan") if plan["trigger"] == "+!train"]
    assert plans == [*options, "done"]
    assert sum(option["steps"] for option in learned.data("bdi.option")) == 12_000


def test_a_run_leaves_no_temporary_file(learned: FinishedRun) -> None:
    """SPADE's own server, which makes a folder when it is imported, is not imported."""
    assert list((learned.folder / TEMPORARY).iterdir()) == []


def test_every_recorded_step_can_be_explained(learned: FinishedRun) -> None:
    """Each step of a recorded episode has whether it explored, how sure the table was, and a plan before it."""
    lengths = {
        e["episode"]: e["length"] for e in learned.of_type("episode") if e["episode"] % 20 == 0
    }
    choices = {reported["episode"]: reported for reported in learned.data("policy.choices")}
    assert set(choices) == set(lengths)
    for episode, reported in choices.items():
        assert len(reported["explored"]) == len(reported["confidence"]) == lengths[episode]
    first_step = learned.of_type("step")[0]["seq"]
    assert learned.of_type("bdi.plan")[0]["seq"] < first_step
    assert len(learned.data("policy.values")) == 2


def test_the_same_seed_gives_the_same_run(
    learned: FinishedRun, access: Path, tmp_path: Path
) -> None:
    """A second run, in another process with another hash seed: every event is the same, bit for bit."""
    again = bdi(
        tmp_path / "run", access, steps=12_000, replay_every=20, parameters={"episode_gap": 0}
    )
    kinds = {
        "step",
        "episode",
        "metric",
        "bdi.belief",
        "bdi.plan",
        "bdi.intention",
        "bdi.option",
        "policy.values",
    }
    first, second = (
        [event for event in done.plain() if event["type"] in kinds] for done in (learned, again)
    )
    assert len(first) > 1_000
    assert first == second


def test_evaluation_decides_and_tells_every_step(
    learned: FinishedRun, access: Path, tmp_path: Path
) -> None:
    """Each step of an evaluation has its plan with confidence and its intention; the policy finds the goal."""
    given = tmp_path / "run/inputs/checkpoint"  # where the stack puts a copy of another run's
    given.mkdir(parents=True)
    shutil.copy(learned.folder / "checkpoints/final.npz", given)
    checkpoint = "inputs/checkpoint/final.npz"
    done = bdi(
        tmp_path / "run",
        access,
        kind="evaluate",
        steps=60,
        parameters={"checkpoint": checkpoint},
    )
    assert done.counts["step"] == 60
    deciding = [
        plan
        for plan in done.data("bdi.plan")
        if plan["trigger"] == "+!step" and plan["plan"] != "done"
    ]
    assert len(deciding) == 60
    assert {plan["plan"] for plan in deciding} <= {"sure", "unsure"}
    assert all(0 < plan["confidence"] <= 1 for plan in deciding)
    assert [e["episode_return"] for e in done.of_type("episode")] == [1.0] * 10
    (result,) = done.data("evaluation.result")
    assert (result["returns"], result["mean"], result["greedy"]) == ([1.0] * 10, 1.0, None)
    resets = [event["reset"] for event in done.of_type("episode_start")]
    assert [reset["seed"] for reset in resets][:10] == result["seeds"]
    file = (learned.folder / "checkpoints/final.npz").read_bytes()
    assert result["checkpoint_sha256"] == hashlib.sha256(file).hexdigest()
    assert done.counts["checkpoint"] == 0


def test_a_play_goes_on_for_its_episodes_at_its_pace(
    learned: FinishedRun, access: Path, tmp_path: Path
) -> None:
    """Three whole episodes, every step decided; none comes sooner than the pace allows; nothing is learned."""
    checkpoint = str(learned.folder / "checkpoints/final.npz")
    done = bdi(
        tmp_path / "run",
        access,
        kind="play",
        episodes=3,
        pace=20,
        seed=5,
        parameters={"checkpoint": checkpoint},
    )
    assert [e["flags"] for e in done.of_type("episode")] == [1, 1, 1]
    assert done.counts["episode_start"] == 3
    steps = done.of_type("step")
    deciding = [p for p in done.data("bdi.plan") if p["plan"] in ("sure", "unsure")]
    assert len(deciding) == len(steps) == sum(e["length"] for e in done.of_type("episode"))
    apart = [after["t"] - before["t"] for before, after in itertools.pairwise(steps)]
    assert min(apart) >= 0.045
    values = [reported["q"] for reported in done.data("policy.values")]
    assert values[0] == values[-1]


def test_a_play_learns_nothing_whatever_its_plan_says(
    learned: FinishedRun, access: Path, tmp_path: Path
) -> None:
    """A plan that takes an option in a play fails with the reason, and its values stay as they are."""
    plan = "!go.\n+!go <- .option(learn, anneal, 100, budget); .finish.\n-!go <- .finish."
    parameters = {"checkpoint": str(learned.folder / "checkpoints/final.npz"), "plan": plan}
    done = run(
        tmp_path / "run",
        access,
        algorithm="bdi_q",
        kind="play",
        parameters={"slippery": False, **parameters},
    )
    reasons = [reported.get("reason", "") for reported in done.data("bdi.intention")]
    assert any("a play learns nothing" in reason for reason in reasons)
    assert done.counts["step"] == 0


def test_changing_the_plan_changes_the_actions(
    learned: FinishedRun, access: Path, tmp_path: Path
) -> None:
    """The same checkpoint, seed and world under a person's own plan file: other actions, those that the plan says."""
    (tmp_path / "mine.asl").write_text(HEADSTRONG)
    parameters = {
        "checkpoint": str(learned.folder / "checkpoints/final.npz"),
        "plan_file": str(tmp_path / "mine.asl"),
    }
    done = bdi(tmp_path / "run", access, kind="evaluate", steps=40, parameters=parameters)
    assert {step["action"] for step in done.of_type("step")} == {2}
    assert (done.folder / "plan.asl").read_text() == HEADSTRONG
    assert done.of_type("config")[0]["data"]["plan"]["name"] == "mine.asl"


def test_a_plan_of_options_steers_the_learning(access: Path, tmp_path: Path) -> None:
    """A plan that only ever explores at random leaves exploration where it put it, unlike the built-in one."""
    plan = "!go.\n+!go : left(0) <- .finish.\n+!go <- .option(wander, 0.75, 300, budget); !!go."
    done = bdi(tmp_path / "run", access, steps=1_000, parameters={"plan": plan})
    assert {option["option"] for option in done.data("bdi.option")} == {"wander"}
    assert {m["value"] for m in done.of_type("metric") if m["name"] == "epsilon"} == {0.75}


def test_a_plan_of_steps_learns_what_plain_learning_learns(access: Path, tmp_path: Path) -> None:
    """A plan that takes every step by epsilon itself ends with the very values of q_learning."""
    plan = (
        "!go.\n+!go : left(0) <- .finish.\n+!go : state(S) <- .choose_action(S, A); .act(A); !!go.\n"
        "+!go <- .look; !!go."
    )
    stepped = bdi(tmp_path / "a", access, steps=1_000, parameters={"plan": plan})
    plain = run(tmp_path / "b", steps=1_000, parameters={"slippery": False})
    assert stepped.data("policy.values")[-1] == plain.data("policy.values")[-1]
    reported = [
        plan for plan in stepped.data("bdi.plan") if plan["episode"] == 0 and plan["step"] > 0
    ]
    assert len(reported) == next(e["length"] for e in stepped.of_type("episode"))


def test_a_failing_plan_is_told_and_recovered(access: Path, tmp_path: Path) -> None:
    """An action with a wrong argument fails with line and column; `-!goal` takes over and the run ends well."""
    plan = "!go.\n+!go <- .option(a, 7, 300, budget).\n@rescue\n-!go <- .option(b, anneal, 300, budget); .finish."
    done = bdi(tmp_path / "run", access, steps=300, parameters={"plan": plan})
    reported = [i for i in done.data("bdi.intention") if i["change"] == "recovered"]
    assert reported[0]["plan"] == "rescue"
    assert reported[0]["reason"].startswith(
        "line 2, column 9: epsilon must be a number from 0 to 1"
    )


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ("!go.\n+!go <- .fail.\n-!go <- !!go.", "failed more than 200 times without a step"),
        ("!go.\n+!go <- .print(hello).", "came to its end without a step"),
    ],
)
def test_a_plan_that_leads_nowhere_fails_the_run(
    access: Path, tmp_path: Path, plan: str, words: str
) -> None:
    """A circle of failures and a plan without a step are failures in words, exit code 1, no traceback."""
    done = run(tmp_path / "run", access, algorithm="bdi_q", steps=100, parameters={"plan": plan})
    assert done.code == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.events[-1]["phase"] == "error"


def test_without_a_server_the_run_is_refused(access: Path, tmp_path: Path) -> None:
    """No account file, and a server that is away: exit code 2, the part by name, and not one step."""
    done = run(tmp_path / "none", None, algorithm="bdi_q", steps=100)
    assert done.code == 2
    assert "XMPP, account: MOSAIC_XMPP_FILE is not set" in done.stderr
    reported = json.loads(access.read_text())
    access.write_text(json.dumps({**reported, "port": 1}))
    done = run(tmp_path / "away", access, algorithm="bdi_q", steps=100)
    assert done.code == 2
    assert "XMPP, port: nobody answers at 127.0.0.1:1" in done.stderr
    assert done.counts["step"] == 0
    assert done.events[-1]["phase"] == "error"


def test_a_refused_spec_has_its_own_exit_code(tmp_path: Path) -> None:
    """What `check` blocks ends with 2 and the same words, when it is started all the same."""
    done = run(tmp_path / "run", steps=100, parameters={"gamma": 3})
    assert done.code == 2
    assert "gamma must be at most 1" in done.stderr


@pytest.mark.nightly(by_day=["q_learning"])
@pytest.mark.parametrize("algorithm", ["bdi_q", "q_learning"])
def test_a_stop_ends_within_a_second_with_a_checkpoint(
    access: Path, tmp_path: Path, algorithm: str
) -> None:
    """SIGTERM in learning: exit code 0, lifecycle stopped, a checkpoint of that moment, from which a run goes on."""
    folder = tmp_path / "run"
    process = start(folder, access, algorithm=algorithm, steps=10_000_000, record="episodes")
    wait_for(folder, process, has("episode"))
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    done = finish(process, folder)
    seconds = time.monotonic() - began
    print(f"{algorithm}: {seconds:.2f} s from SIGTERM to the end")  # noqa: T201 - the figure of the run
    assert (
        seconds < 10
    )  # a second on a machine that is not shared: `benchmarks/worker_spade.py stop`
    assert done.code == 0, done.stderr
    assert done.events[-1]["phase"] == "stopped"
    reported = done.of_type("checkpoint")[-1]
    assert reported["reason"] == "stop"
    on = run(
        tmp_path / "on",
        access,
        algorithm=algorithm,
        steps=200,
        parameters={"checkpoint": str(folder / reported["path"])},
    )
    assert on.code == 0, on.stderr
    assert on.of_type("config")[0]["data"]["continues_from_step"] == reported["step"]


def test_the_end_is_not_spent_on_collecting() -> None:
    """Whatever the worker was asked, nothing is left for the garbage collector to look through when it ends."""
    code = (
        "import atexit, gc, runpy, sys\n"
        "atexit.register(lambda: print(gc.get_freeze_count(), file=sys.stderr))\n"  # runs last
        "sys.argv = ['mosaic_worker_spade', 'describe']\n"
        "runpy.run_module('mosaic_worker_spade', run_name='__main__', alter_sys=True)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=TIMEOUT_S
    )
    assert int(done.stderr.split()[-1]) > 10_000


@pytest.mark.nightly
def test_an_idle_agent_costs_nothing(access: Path, tmp_path: Path) -> None:
    """An agent whose plan waits uses less than a twentieth of a core while it does (stock: a whole one)."""
    plan = "!go.\n+!go <- .option(learn, anneal, 50, budget); .wait(60000); .finish."
    folder = tmp_path / "run"
    process = start(folder, access, algorithm="bdi_q", steps=1_000, parameters={"plan": plan})
    wait_for(folder, process, has("bdi.option"))
    time.sleep(0.5)  # what came with the option is done by then
    first = _cpu_s(process.pid)
    time.sleep(2.0)  # that nothing happens has no event
    used = _cpu_s(process.pid) - first
    process.send_signal(signal.SIGTERM)
    assert finish(process, folder).code == 0
    assert used < 0.1, f"{used} s of CPU in 2 s of waiting"


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_scout_tells_and_the_learner_uses_it(access: Path, tmp_path: Path) -> None:
    """Hazards and goal go over XMPP as events of both sides, and the learner starts from them."""
    parameters = {"agents": 2, "scout_steps": 4_000, "episode_gap": 0}
    done = bdi(tmp_path / "run", access, steps=4_000, parameters=parameters)
    messages = done.data("bdi.message")
    reported = [m["content"] for m in messages if m["way"] == "sent" and m["agent"] == "scout"]
    received = [
        m["content"] for m in messages if m["way"] == "received" and m["agent"] == "learner"
    ]
    assert reported == received
    assert "goal_at(15)" in reported
    assert {"hazard(5)", "hazard(7)", "hazard(11)", "hazard(12)"} <= set(reported)
    assert reported[-1] == f"reported({len(reported) - 1})"
    plans = {plan["plan"] for plan in done.data("bdi.plan") if plan["agent"] == "learner"}
    assert {"with_scout", "complete", "told"} <= plans
    episodes = [e for e in done.of_type("episode") if e["env"] == 0]
    assert sum(e["episode_return"] for e in episodes[:100]) > 60


@pytest.mark.nightly
def test_two_agents_give_the_same_run_again(server: LocalXmppServer, tmp_path: Path) -> None:
    """The learner waits for the report: with the same seed its values are the same, however long messages take."""
    tables = []
    for name in ("a", "b"):
        access = server.write_access(tmp_path / f"{name}.json", 2)
        parameters = {"agents": 2, "scout_steps": 2_000}
        done = bdi(tmp_path / name, access, steps=3_000, parameters=parameters)
        tables.append([v for v in done.data("policy.values") if v["env"] == 0][-1])
    assert tables[0] == tables[1]


def episodes_after(folder: Path, mark: int) -> int:
    """Episodes recorded after an event."""
    return sum(1 for e in read_events(folder) if e["type"] == "episode" and e["seq"] > mark)


def states(events: list[Event]) -> list[str]:
    """What happened to the line."""
    return [e["data"]["state"] for e in events if e["type"] == "xmpp.session"]


def test_a_lost_server_degrades_the_run_and_learning_goes_on(
    server: LocalXmppServer, tmp_path: Path
) -> None:
    """Server away: reported, noted, learning goes on. Server back: the line is made again, and the note is gone."""
    folder = tmp_path / "run"
    access = server.write_access(tmp_path / "access.json", 1)
    port = server.facts["port"]
    fields = {"steps": 100_000_000, "record": "metrics", "parameters": {"plan": PATIENT}}
    process = start(folder, access, algorithm="bdi_q", **fields)
    try:
        wait_for(folder, process, has("bdi.option"))
        server.stop()
        wait_for(folder, process, lambda events: states(events) == ["lost"])
        mark = read_events(folder)[-1]["seq"]
        notes = json.loads((folder / "control/notes.json").read_text())
        assert notes["xmpp"].startswith("degraded: learner lost the XMPP server")
        wait_for(
            folder,
            process,
            lambda events: sum(e["type"] == "bdi.option" and e["seq"] > mark for e in events) > 3,
        )
        assert server.start(server.home)
        assert server.facts["port"] == port
        wait_for(folder, process, lambda events: len(states(events)) > 1)
        assert states(read_events(folder))[1] in ("resumed", "restarted")
        assert json.loads((folder / "control/notes.json").read_text()) == {}
    finally:
        process.send_signal(signal.SIGTERM)
        done = finish(process, folder)
        if not server.is_running:  # the other tests need it
            server.start(server.home)
    assert done.code == 0, done.stderr
