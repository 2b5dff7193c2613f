"""Verbs that manage a stack, while MOSAIC_URL names another than that of this machine."""

from typing import Any

import pytest
from tests.gateway_double import OF_RUN, RUN, RUN_ID, Answers, Mosaic, strict

from mosaic_contracts.choices import RunKind

WORKER: dict[str, Any] = {
    "manifest": {"id": "spade", "title": "Agents", "command": ["x"]},
    "ready": True,
    "description": {
        "worker": "spade",
        "version": "1",
        "title": "Agents",
        "record_levels": [],
        "environments": [],
        "algorithms": [
            {"id": "q", "title": "q", "parameters": {}},
            {
                "id": "bdi_q",
                "title": "b",
                "parameters": {},
                "services": ["xmpp"],
                "default_environment": "FrozenLake-v1",
            },
        ],
    },
}
EMBEDDED = ("./mosaic up -d", "broker", "environment", "data root", "ejabberd")
"""Words that are about the stack of this machine."""


def preflight(level: str, message: str) -> dict[str, Any]:
    lines = [
        {"id": "spec", "title": "Spec", "level": "ok"},
        {"id": "xmpp", "title": "XMPP", "level": level, "message": message},
    ]
    return {"ok": level == "ok", "lines": lines}


@pytest.fixture
def named(answers: Answers) -> Answers:
    """A stack in containers, named by MOSAIC_URL."""
    answers["/api/v1/stack"] = {"version": "1", "ready": True, "broker": True}
    answers["/readyz"] = {"findings": []}
    answers["/api/v1/workers"] = {"workers": [WORKER]}
    answers["/api/v1/preflight"] = preflight("ok", "localhost at xmpp:5222")
    return answers


def test_the_doctor_examines_the_stack_that_was_named(mosaic: Mosaic, named: Answers) -> None:
    """It says which stack it asks, and finds nothing wrong with an embedded one that nobody asked about."""
    code, out, _ = mosaic("doctor", "--json")
    findings = {finding["where"]: finding for finding in strict(out)["findings"]}
    assert (code, strict(out)["ok"]) == (0, True)
    assert named.url in findings["stack asked"]["message"]
    assert set(findings) == {"python", "clock", "stack asked", "stack", "xmpp"}
    assert findings["xmpp"]["message"] == "localhost at xmpp:5222"


def test_the_doctor_says_when_the_named_stack_is_away(
    mosaic: Mosaic, named: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is in the way is that stack, by its address."""
    monkeypatch.setenv("MOSAIC_URL", "http://127.0.0.1:9")
    code, out, _ = mosaic("doctor", "--json")
    assert code == 1
    (blocking,) = [one for one in strict(out)["findings"] if one["level"] == "blocking"]
    assert "http://127.0.0.1:9" in blocking["message"]


def test_xmpp_status_asks_the_stack_that_was_named(mosaic: Mosaic, named: Answers) -> None:
    """Its scheduler says whether agents could log in; this machine's server is not looked at."""
    code, out, _ = mosaic("xmpp", "status")
    assert (code, named.url in out, "localhost at xmpp:5222" in out) == (0, True, True)
    asked = named.last("POST").body
    assert (asked["worker"], asked["algorithm"]) == ("spade", "bdi_q")
    named["/api/v1/preflight"] = preflight("blocking", "port: Nobody answers on port 5222.")
    code, out, said = mosaic("xmpp", "status")
    assert (code, out) == (6, "")
    assert "Nobody answers on port 5222." in said
    named["/api/v1/workers"] = {"workers": []}
    code, out, said = mosaic("xmpp", "status", "--json")
    assert (code, strict(out)["login"]) == (3, None)
    assert not any(word in said for word in EMBEDDED)


@pytest.mark.parametrize("line", ["xmpp up", "xmpp down", "down"])
def test_what_cannot_be_done_from_here_is_refused(
    line: str, mosaic: Mosaic, named: Answers
) -> None:
    """The stack of this machine is left alone: the one that was named is meant, and it is managed where it runs."""
    code, out, said = mosaic(*line.split())
    assert (code, out) == (2, "")
    assert named.url in said
    assert "docker compose" in said
    assert not named.asked


@pytest.mark.parametrize("line", ["down --stop-runs", "stop --all"])
def test_all_runs_of_the_named_stack_are_stopped_at_once(
    line: str, mosaic: Mosaic, named: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Live and waiting ones; the answer names those that were stopped, and the exit code those that were not."""
    monkeypatch.setattr("mosaic_cli.stopping.LOOK_EVERY_S", 0.01)
    monkeypatch.setattr("mosaic_cli.stopping.STOP_RUNS_TIMEOUT_S", 0.5)
    named["/api/v1/runs"] = {"runs": [RUN | {"state": "running"}]}
    named[f"{OF_RUN}/stop"] = RUN | {"state": "stopping"}
    named[OF_RUN] = RUN | {"state": "cancelled"}
    code, out, _ = mosaic(*line.split(), "--json")
    assert (code, strict(out)["stopped_runs"], strict(out)["live_runs"]) == (0, [RUN_ID], [])
    listed = next(asked for asked in named.asked if asked.path == "/api/v1/runs")
    assert set(listed.query["state"]) == {"queued", "starting", "running", "stopping"}
    assert set(listed.query["kind"]) == {kind.value for kind in RunKind}, "replays too"
    named[OF_RUN] = RUN | {"state": "stopping"}
    code, out, _ = mosaic(*line.split(), "--json")
    assert (code, strict(out)["live_runs"]) == (6, [RUN_ID])


@pytest.mark.parametrize("line", ["down --stop-runs", "stop --all"])
def test_runs_of_a_list_that_may_be_old_are_not_stopped(
    line: str, mosaic: Mosaic, named: Answers
) -> None:
    """Without the scheduler nobody knows which runs live: that is said, and nothing is asked to stop."""
    named["/api/v1/runs"] = {"runs": [RUN | {"state": "running", "stale": True}]}
    code, _, said = mosaic(*line.split())
    assert (code, "scheduler does not answer" in said) == (6, True)
    assert [asked.path for asked in named.asked] == ["/api/v1/runs"]


def test_a_list_that_may_be_old_says_so(mosaic: Mosaic, named: Answers) -> None:
    """`ps` shows what was last known, with a note on stderr."""
    named["/api/v1/runs"] = {"runs": [RUN | {"stale": True}]}
    code, out, said = mosaic("ps")
    assert (code, "CartPole" in out, "it may be old" in said) == (0, True, True)
    named["/api/v1/runs"] = {"runs": [RUN]}
    assert mosaic("ps")[2] == ""


def test_stop_takes_a_run_or_all(mosaic: Mosaic, named: Answers) -> None:
    """Neither and both are refused, for one of them would be a guess."""
    assert mosaic("stop")[0] == 2
    assert mosaic("stop", "last", "--all")[0] == 2
    named["/api/v1/runs"] = {"runs": []}
    assert mosaic("stop", "--all") == (0, "", "No run was live.\n")


@pytest.mark.parametrize("line", ["ps", "show last", "logs last"])
def test_an_empty_stack_is_named(line: str, mosaic: Mosaic, named: Answers) -> None:
    """What to try next is a run on that stack, not a demo that would start one here."""
    named["/api/v1/runs"] = {"runs": []}
    _, _, said = mosaic(*line.split())
    assert f"The stack at {named.url} has no runs yet. Try: ./mosaic run" in said
