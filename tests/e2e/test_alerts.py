"""A real CleanRL training that meets `return < x for n steps`: its event, the webhook, and the rule tried again."""

import json

import pytest
from stack_under_test import StackUnderTest, until
from webhook_server import webhook_server

RULE = "return<500 for 1k steps"


@pytest.mark.nightly
def test_a_training_that_stays_below_a_return(stack: StackUnderTest) -> None:
    """PPO on CartPole never reaches 500 in 2,048 steps: one alert, at least 1,000 steps after the first episode."""
    with webhook_server() as webhook:
        added = stack.cli("alerts", "target", "add", "hook", "--webhook", webhook.url, "--yes")
        assert added.returncode == 0, added.stderr
        spec = {"steps": 2_048, "seed": 1, "alerts": [RULE, "nan or inf"]}
        run = stack.submit("cleanrl", "ppo", "CartPole-v1", **spec)
        view = stack.wait_final(run.run_id, within_s=180)
        until(lambda: webhook.events(run.run_id), "the webhook was asked", 30)
        (body,) = [one for one in webhook.bodies if one["run_id"] == run.run_id]
        assert stack.cli("alerts", "target", "rm", "hook").returncode == 0
    assert (body["event"], body["rule"]) == ("alert.raised", RULE)
    assert 1_000 < body["step"] <= 2_048
    assert (body["environment"], body["algorithm"]) == ("CartPole-v1", "ppo")
    assert [one.rule for one in view.alerts] == [RULE]
    said = stack.cli("events", run.run_id, "--types", "alert.raised", "--json").stdout
    (event,) = [json.loads(line) for line in said.splitlines()]
    assert event["data"]["step"] == body["step"]
    tried = stack.cli("alerts", "test", RULE, run.run_id, "--json")
    (change,) = json.loads(tried.stdout)["changes"]
    assert change["step"] == body["step"]
