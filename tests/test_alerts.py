"""Alerts on a real stack: a NaN of a script, a webhook, a command, and `kill -9` between alert and delivery."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stack_under_test import (
    StackUnderTest,
    last_json,
    link_environments,
    running_stack,
    until,
)
from webhook_server import WebhookServer, webhook_server

from mosaic_contracts.alerts import AlertView
from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState

pytestmark = pytest.mark.timeout(240)

WORKER = """
id = "script"
title = "Script"
room = "tests"
command = ["{{python}}", "-m", "mosaic_workerkit.pipe", "{folder}/program.toml"]
"""
PROGRAM = """
id = "script"
title = "Script"
environments = ["X-v0"]

[algorithms.walk]
command = ["{python}", "{script}", "{{losses}}"]

[algorithms.walk.parameters.losses]
type = "string"
default = "1"
"""
SCRIPT = """
import sys
for step, loss in enumerate(sys.argv[1].split(",")):
    print('{"step": %d, "losses/value_loss": %s}' % (step, loss), flush=True)
"""
LONG = {"rate": 2_000, "seconds": 600.0, "metrics": 0.5}


@pytest.fixture(scope="module")
def webhook() -> Iterator[WebhookServer]:
    """One for all tests of this module."""
    with webhook_server() as server:
        yield server


@pytest.fixture(scope="module")
def stack(webhook: WebhookServer) -> Iterator[StackUnderTest]:
    """A stack that sends its alerts to the webhook."""
    with running_stack([]) as under_test:
        script = under_test.home / "script.py"
        script.write_text(SCRIPT)
        (under_test.home / "program.toml").write_text(
            PROGRAM.format(python=sys.executable, script=script)
        )
        (under_test.home / "workers.d" / "script.toml").write_text(
            WORKER.format(folder=under_test.home)
        )
        done = under_test.cli("alerts", "target", "add", "hook", "--webhook", webhook.url, "--yes")
        assert done.returncode == 0, done.stderr
        assert "very-secret" not in done.stdout + done.stderr
        yield under_test


@pytest.fixture(autouse=True)
def _answers(webhook: WebhookServer) -> None:
    """Each test begins with a webhook that takes everything."""
    webhook.answers.set()
    webhook.status = 204


def train(stack: StackUnderTest, losses: str, *alerts: str) -> RunView:
    """A run of the script, whole."""
    spec = {"parameters": {"losses": losses}, "alerts": list(alerts)}
    view = stack.submit("script", "walk", "X-v0", **spec)
    return stack.wait_final(view.run_id)


def alerts_of(stack: StackUnderTest, run_id: str) -> list[AlertView]:
    """Alerts of a run, newest first."""
    with stack.client() as client:
        return client.alerts(run_id).alerts


def events_of(stack: StackUnderTest, run_id: str) -> list[dict[str, Any]]:
    """Events of alerts that are stored with a run."""
    done = stack.cli("events", run_id, "--types", "alert.raised,alert.cleared", "--json")
    return [json.loads(line) for line in done.stdout.splitlines()]


def wait_delivered(stack: StackUnderTest, run_id: str, count: int) -> list[AlertView]:
    """Wait until all deliveries of so many alerts came to an end."""

    def all_ended() -> list[AlertView] | None:
        found = alerts_of(stack, run_id)
        ways = [way for alert in found for way in alert.deliveries]
        is_over = len(found) == count and ways and all(way.state != "waiting" for way in ways)
        return found if is_over else None

    return until(all_ended, f"{count} alerts of {run_id} were delivered", 60)


def wait_progress(stack: StackUnderTest, run_id: str) -> None:
    """Wait until more of a run is stored than now."""
    before = stack.run(run_id).summary
    count = 0 if before is None else before.events
    stack.wait_stored(run_id, count + 1)


def test_a_nan_in_a_loss_is_an_alert_until_it_is_over(
    stack: StackUnderTest, webhook: WebhookServer
) -> None:
    """The script's NaN raises, its next number clears; both are events of the run, and both are sent."""
    run = train(stack, "0.5,NaN,NaN,0.25", "nan or inf")
    (alert,) = wait_delivered(stack, run.run_id, 1)
    assert (alert.step, alert.metric, alert.cleared_at is not None) == (
        1,
        "losses/value_loss",
        True,
    )
    assert [e["type"] for e in events_of(stack, run.run_id)] == ["alert.raised", "alert.cleared"]
    until(lambda: len(webhook.events(run.run_id)) == 2, "both were sent", 30)
    assert webhook.events(run.run_id) == [
        ("alert.raised", "nan or inf"),
        ("alert.cleared", "nan or inf"),
    ]
    assert stack.run(run.run_id).alerts == []


@pytest.mark.nightly
def test_an_alert_that_holds_at_the_end_stays_in_the_record(stack: StackUnderTest) -> None:
    """`ps` and `show` say so, and the API finds it with the run."""
    run = train(stack, "0.5,NaN", "nan")
    assert [one.rule for one in run.alerts] == ["nan"]
    assert "is NaN at step 1" in stack.cli("show", run.run_id).stdout
    assert "alert" in stack.cli("ps").stdout.lower()


@pytest.mark.nightly
def test_a_rule_for_all_runs_fits_by_a_search(stack: StackUnderTest) -> None:
    """A rule looks at the runs that its search finds, and can be removed and restored."""
    added = last_json(
        stack.cli("alerts", "add", "m.value_loss>9", "--runs", "worker:script", "--json").stdout
    )
    rule_id = added["rule_id"]
    run = train(stack, "1,10")
    other = stack.submit("synthetic", "synthetic", "Synthetic-v0", parameters={"events": 100})
    stack.wait_final(other.run_id)
    assert [one.rule_id for one in alerts_of(stack, run.run_id)] == [rule_id]
    assert alerts_of(stack, other.run_id) == []
    assert stack.cli("alerts", "rm", rule_id).returncode == 0
    assert alerts_of(stack, train(stack, "1,10").run_id) == []
    assert stack.cli("alerts", "restore", rule_id).returncode == 0
    assert len(alerts_of(stack, train(stack, "1,10").run_id)) == 1
    assert stack.cli("alerts", "rm", rule_id).returncode == 0


def test_a_rule_can_be_tried_on_a_run_of_the_past(stack: StackUnderTest) -> None:
    """`test` says when it would have been raised, and keeps nothing."""
    run = train(stack, "1,10,1,10")
    done = stack.cli("alerts", "test", "m.value_loss>9", run.run_id, "--json")
    found = last_json(done.stdout)["changes"]
    assert [(one["is_raised"], one["step"]) for one in found] == [(True, 1), (False, 2), (True, 3)]
    assert alerts_of(stack, run.run_id) == []


def test_the_end_of_a_run_comes_with_its_state(
    stack: StackUnderTest, webhook: WebhookServer
) -> None:
    """`failed` is raised once for a run that fails and never for another one."""
    spec = {"parameters": {"events": 50, "exit_code": 3}, "alerts": ["failed", "ended"]}
    view = stack.submit("synthetic", "synthetic", "Synthetic-v0", **spec)
    assert stack.wait_final(view.run_id).state is RunState.FAILED
    wait_delivered(stack, view.run_id, 2)
    sent = [body for body in webhook.bodies if body["run_id"] == view.run_id]
    assert {(body["rule"], body["state"]) for body in sent} == {
        ("failed", "failed"),
        ("ended", "failed"),
    }
    assert all(body["last_return"] is None or body["last_return"] >= 0 for body in sent)
    fine = train(stack, "1", "failed")
    assert alerts_of(stack, fine.run_id) == []


def test_a_webhook_that_refuses_is_asked_again_and_its_secret_is_nowhere(
    stack: StackUnderTest, webhook: WebhookServer
) -> None:
    """A server error is tried again; what is shown and logged has no part of the address but its host."""
    webhook.status = 500
    run = train(stack, "NaN", "nan")

    def is_tried() -> bool:
        return any(alert.deliveries[0].tries > 0 for alert in alerts_of(stack, run.run_id))

    until(is_tried, "it was tried", 30)
    (alert,) = alerts_of(stack, run.run_id)
    assert "answered 500" in alert.deliveries[0].problem
    webhook.status = 204
    (alert,) = wait_delivered(stack, run.run_id, 1)
    assert (alert.deliveries[0].state, alert.deliveries[0].tries >= 2) == ("delivered", True)
    ids = {body["delivery"] for body in webhook.bodies if body["run_id"] == run.run_id}
    assert len(ids) == 1
    for file in (stack.home / "logs").iterdir():
        assert b"very-secret" not in file.read_bytes(), file
    assert "very-secret" not in stack.cli("alerts", "--json").stdout
    secret = stack.home / "secrets" / "alert_targets" / "hook.json"
    assert secret.stat().st_mode & 0o077 == 0


@pytest.mark.nightly
def test_a_command_gets_json_on_its_stdin(stack: StackUnderTest, tmp_path: Path) -> None:
    """The program runs without a shell and without the stack's variables; consent is asked for."""
    taken = tmp_path / "taken.json"
    program = tmp_path / "program.py"
    program.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        f"json.dump([sys.argv[1:], json.load(sys.stdin), dict(os.environ)], open({str(taken)!r}, 'w'))\n"
    )
    program.chmod(0o755)
    line = f"{program} '$HOME; x' y"
    refused = stack.cli("alerts", "target", "add", "mine", "--command", line)
    assert refused.returncode != 0
    assert "--yes" in refused.stderr
    assert stack.cli("alerts", "target", "add", "mine", "--command", line, "-y").returncode == 0
    assert stack.cli("alerts", "target", "test", "mine").returncode == 0
    arguments, body, environment = json.loads(taken.read_text())
    assert arguments == ["$HOME; x", "y"]
    assert body["event"] == "alert.test"
    assert not [name for name in environment if name.startswith("MOSAIC")]
    assert stack.cli("alerts", "target", "rm", "mine").returncode == 0


def test_a_command_cannot_be_added_through_the_api(stack: StackUnderTest) -> None:
    """The token of the API is not enough to run programs."""
    with stack.client() as client, pytest.raises(Exception, match="webhook"):
        client.set_alert_target("evil", "sh -c true", consent=True)


@pytest.mark.nightly
def test_a_disk_that_is_low_is_one_alert_of_the_stack(tmp_path: Path) -> None:
    """It comes once, also after a restart of the scheduler, and no run has it."""
    stack = StackUnderTest(tmp_path / "home", link_environments(tmp_path / "venvs"))
    stack.environ["MOSAIC_DISK_LOW_BYTES"] = str(2**62)
    try:
        stack.start()
        assert stack.cli("alerts", "add", "disk low").returncode == 0

        def stack_alerts() -> list[AlertView]:
            with stack.client() as client:
                return client.alerts().alerts

        until(stack_alerts, "the alert is raised", 30)
        stack.kill_service("scheduler")
        stack.wait_ready()
        (alert,) = stack_alerts()
        assert (alert.run_id, alert.cleared_at, alert.rule) == (None, None, "disk low")
        assert "are free at" in alert.message
    finally:
        stack.stop()


@pytest.mark.kill
def test_a_kill_between_alert_and_delivery_loses_and_repeats_nothing(
    stack: StackUnderTest, webhook: WebhookServer
) -> None:
    """The scheduler is killed while the webhook has not answered: one alert, one event, the same delivery again."""
    webhook.answers.clear()
    spec = {
        "parameters": LONG,
        "steps": 10**8,
        "alerts": ["return>-1", "no episode for 1000000 steps"],
    }
    run = stack.submit("synthetic", "synthetic", "Synthetic-v0", **spec)
    until(lambda: webhook.events(run.run_id), "the webhook was asked", 60)
    stack.kill_service("scheduler")
    webhook.answers.set()
    stack.wait_ready()
    (alert,) = wait_delivered(stack, run.run_id, 1)
    sent = [body for body in webhook.bodies if body["run_id"] == run.run_id]
    assert len(sent) >= 2, "the second scheduler asked again"
    assert len({body["delivery"] for body in sent}) == 1
    for name in ("recorder", "scheduler", "broker"):
        stack.kill_service(name)
        wait_progress(stack, run.run_id)
    stack.wait_ready()
    with stack.client() as client:
        client.stop(run.run_id)
    stack.wait_final(run.run_id)
    assert [one.alert_id for one in alerts_of(stack, run.run_id)] == [alert.alert_id]
    assert [e["type"] for e in events_of(stack, run.run_id)] == ["alert.raised"]
