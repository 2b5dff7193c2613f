"""What `check` finds, and the command line it plans."""

import io
import json
import sys
from typing import Any

import pytest

from mosaic_contracts.worker import CheckReport, Finding
from mosaic_worker_cleanrl.plan import check_run, make_plan
from mosaic_worker_cleanrl.plan import request as request_module
from mosaic_worker_cleanrl.worker import CleanrlWorker
from mosaic_workerkit.entry import main


def test_the_plan_is_exact(make_spec: Any) -> None:
    """A plan names script, command line, every argument with its value, steps and packages."""
    report = check_run(make_spec(seed=7, steps=1024, parameters={"learning-rate": 1e-3}))
    assert report.ok
    assert report.findings == []
    assert report.plan["script"] == "cleanrl.ppo"
    assert report.plan["argv"][3:] == [
        "--env-id=CartPole-v1",
        "--seed=7",
        "--total-timesteps=1024",
        "--learning-rate=0.001",
    ]
    assert report.plan["parameters"]["gamma"] == 0.99
    assert report.plan["parameters"]["learning_rate"] == 1e-3
    assert report.plan["total_steps"] == 1024
    assert report.plan["checkpoint_every_steps"] == 103
    assert report.plan["gym_shim"] is True
    assert report.plan["packages"]["torch"].startswith("2.13.0")


def test_a_switch_can_be_turned_off(make_spec: Any) -> None:
    """False reaches the script: a switch that is on by default is off in the arguments it computes."""
    plan = make_plan(make_spec(parameters={"anneal_lr": False, "norm-adv": True}))
    assert "--anneal-lr=False" in plan.argv
    assert plan.arguments["anneal_lr"] is False
    assert plan.arguments["norm_adv"] is True


def test_steps_that_make_no_whole_batch_are_reported(make_spec: Any) -> None:
    """The person hears how many steps PPO will really take."""
    report = check_run(make_spec(steps=50_000))
    assert report.ok
    assert (report.plan["asked_steps"], report.plan["total_steps"]) == (50_000, 49_664)
    assert [(f.level, f.where) for f in report.findings] == [("warning", "steps")]
    assert "after 49,664 steps, not 50,000" in report.findings[0].message


def test_default_steps_are_nobodys_wish(make_spec: Any) -> None:
    """A default that makes no whole batch is no warning on each launch."""
    report = check_run(make_spec())
    assert report.plan["total_steps"] < report.plan["asked_steps"]
    assert report.findings == []


@pytest.mark.parametrize(
    ("algorithm", "environment", "parameters", "smallest"),
    [
        ("ppo", "CartPole-v1", {}, 512),
        ("ppo", "CartPole-v1", {"num_envs": 3, "num_steps": 64}, 192),
        ("ppo_continuous_action", "Pendulum-v1", {}, 2048),
        ("ppo_continuous_action", "Pendulum-v1", {"num_envs": 2}, 4096),
    ],
)
def test_fewer_steps_than_a_batch_are_refused(
    make_spec: Any, algorithm: str, environment: str, parameters: Any, smallest: int
) -> None:
    """Below one batch nothing would be trained: refused with the smallest number, which is taken."""
    fields = {"algorithm": algorithm, "environment": environment, "parameters": parameters}
    refused = check_run(make_spec(**fields, steps=smallest - 1))
    assert not refused.ok
    assert [(f.level, f.where) for f in refused.findings] == [("blocking", "steps")]
    assert f"The smallest number is {smallest}:" in refused.findings[0].message
    accepted = check_run(make_spec(**fields, steps=smallest))
    assert accepted.ok
    assert accepted.plan["total_steps"] == accepted.plan["first_update_step"] == smallest


@pytest.mark.parametrize(
    ("fields", "where", "code", "says", "nearest"),
    [
        ({"kind": "sweep"}, "kind", "spec_invalid", "no mode 'sweep'", None),
        (
            {"kind": "evaluate"},
            "parameters.checkpoint",
            "parameter_invalid",
            "name one with the parameter",
            None,
        ),
        ({"algorithm": "pqo"}, "algorithm", "algorithm_unknown", "Did you mean ppo?", "ppo"),
        (
            {"algorithm": "sac"},
            "algorithm",
            "algorithm_unknown",
            "sac_con",
            "sac_continuous_action",
        ),
        (
            {"environment": "CartPol-v1"},
            "environment",
            "environment_unknown",
            "Did you mean CartPole-v1?",
            "CartPole-v1",
        ),
        (
            {"environment": "taxi-v3"},
            "environment",
            "environment_unknown",
            "Did you mean Taxi-v3?",
            "Taxi-v3",
        ),
        (
            {"environment": "Taxi-v2"},
            "environment",
            "environment_unknown",
            "is gone. Take Taxi-v3.",
            "Taxi-v3",
        ),
        (
            {"environment": "LunarLander-v1"},
            "environment",
            "environment_unknown",
            "is gone. Take LunarLander-v2.",
            "LunarLander-v2",
        ),
        (
            {"environment": "CartPole-v7"},
            "environment",
            "environment_unknown",
            "does not exist. Take CartPole-v1.",
            "CartPole-v1",
        ),
        (
            {"environment": "os:CartPole-v1"},
            "environment",
            "environment_unknown",
            "the package os",
            "CartPole-v1",
        ),
        (
            {"environment": "../🐸" * 30},
            "environment",
            "environment_unknown",
            "describe cleanrl",
            None,
        ),
        (
            {"environment": "CartPole"},
            "environment",
            "environment_unknown",
            "names no version",
            "CartPole-v1",
        ),
        (
            {"environment": "Hopper-v2"},
            "environment",
            "environment_unknown",
            "Take Hopper-v4.",
            "Hopper-v4",
        ),
        (
            {"environment": "Pendulum-v1"},
            "environment",
            "parameter_invalid",
            "acts in discrete spaces only",
            None,
        ),
        (
            {"environment": "Pendulum-v1"},
            "environment",
            "parameter_invalid",
            "Use sac_continuous_action or ppo_continuous_action or td3_continuous_action for it.",
            None,
        ),
        (
            {"algorithm": "sac_continuous_action"},
            "environment",
            "parameter_invalid",
            "Use ppo or dqn or c51 for it.",
            None,
        ),
        (
            {"algorithm": "sac_continuous_action", "environment": "Blackjack-v1"},
            "environment",
            "parameter_invalid",
            "Use ppo or dqn or c51 for it.",
            None,
        ),
        (
            {"algorithm": "sac_continuous_action", "environment": "CarRacing-v2"},
            "environment",
            "parameter_invalid",
            "have the shape (96, 96, 3). No algorithm here can.",
            None,
        ),
        (
            {"parameters": {"learning-rat": 1}},
            "parameters.learning-rat",
            "parameter_unknown",
            "Did you mean learning_rate?",
            "learning_rate",
        ),
        (
            {"parameters": {"gamma": "high"}},
            "parameters.gamma",
            "parameter_invalid",
            "type number",
            None,
        ),
        (
            {"parameters": {"gamma": 1.5}},
            "parameters.gamma",
            "parameter_invalid",
            "at most 1",
            None,
        ),
        (
            {"parameters": {"num_envs": 2.5}},
            "parameters.num_envs",
            "parameter_invalid",
            "type integer",
            None,
        ),
        (
            {"parameters": {"anneal_lr": "False"}},
            "parameters.anneal_lr",
            "parameter_invalid",
            "without quotes",
            None,
        ),
        (
            {"parameters": {"num-envs": 2, "num_envs": 2}},
            "parameters.num_envs",
            "parameter_invalid",
            "twice",
            None,
        ),
        (
            {"parameters": {"learning_rate": 10**400}},
            "parameters.learning_rate",
            "parameter_invalid",
            "64 bits",
            None,
        ),
        (
            {"parameters": {"num_envs": 2**63}},
            "parameters.num_envs",
            "parameter_invalid",
            "64 bits",
            None,
        ),
        (
            {"parameters": {"num_envs": 1e300}},
            "parameters.num_envs",
            "parameter_invalid",
            "type integer",
            None,
        ),
        (
            {"parameters": {"num_minibatches": 513}},
            "parameters.num_minibatches",
            "parameter_invalid",
            "Take 256 minibatches at most",
            None,
        ),
        (
            {"parameters": {"num_minibatches": 512}},
            "parameters.num_minibatches",
            "parameter_invalid",
            "leaves 1 a minibatch; it needs 2",
            None,
        ),
        (
            {"algorithm": "c51", "parameters": {"v_min": 200}},
            "parameters.v_min",
            "parameter_invalid",
            "less than v_max",
            None,
        ),
        (
            {"algorithm": "c51", "parameters": {"n_atoms": 1}},
            "parameters.n_atoms",
            "parameter_invalid",
            "at least 2",
            None,
        ),
        (
            {
                "algorithm": "sac_continuous_action",
                "environment": "Pendulum-v1",
                "parameters": {"policy_frequency": 101, "learning_starts": 150},
            },
            "parameters.policy_frequency",
            "parameter_invalid",
            "reports the actor's loss at step 200 before it has",
            None,
        ),
        (
            {"algorithm": "dqn", "parameters": {"buffer_size": 2**50}},
            "parameters.buffer_size",
            "resources_impossible",
            "With ",
            None,
        ),
        ({"parameters": {"seed": 2}}, "parameters.seed", "parameter_invalid", "field", None),
        ({"parameters": {"env-id": "x"}}, "parameters.env-id", "parameter_invalid", "field", None),
        (
            {"steps": 600, "parameters": {"total_timesteps": 600}},
            "parameters.total_timesteps",
            "parameter_invalid",
            "Keep one",
            None,
        ),
        (
            {"algorithm": "dqn", "parameters": {"upload_model": True}},
            "parameters.upload_model",
            "parameter_invalid",
            "not offered",
            None,
        ),
        (
            {"algorithm": "dqn", "parameters": {"save_model": True}},
            "parameters.save_model",
            "parameter_invalid",
            "checkpoints itself",
            None,
        ),
        (
            {"algorithm": "dqn", "parameters": {"num_envs": 2}},
            "parameters.num_envs",
            "parameter_invalid",
            "must be 1",
            None,
        ),
    ],
)
def test_a_mistake_is_named(
    make_spec: Any, fields: dict[str, Any], where: str, code: str, says: str, nearest: str | None
) -> None:
    """Each mistake blocks the run, at its field, with what is right and the nearest known name."""
    report = check_run(make_spec(**fields))
    assert not report.ok
    found = [f for f in report.findings if f.level == "blocking"]
    assert [(f.where, f.code) for f in found] == [(where, code)]
    assert says in found[0].message
    assert found[0].nearest[:1] == ([nearest] if nearest else [])


def test_all_mistakes_are_told_at_once(make_spec: Any) -> None:
    """A person who made three mistakes hears of three."""
    report = check_run(
        make_spec(environment="CartPol-v1", parameters={"gama": 0.9, "num_steps": 0})
    )
    assert [f.where for f in report.findings] == [
        "environment",
        "parameters.gama",
        "parameters.num_steps",
    ]


def test_an_outdated_version_is_a_warning(make_spec: Any) -> None:
    """An environment that still works but is out of date may run, and its successor is named."""
    report = check_run(make_spec(environment="CartPole-v0", steps=512))
    assert report.ok
    assert "v1" in report.findings[0].message


def test_a_chain_with_gaps_is_reported(make_spec: Any) -> None:
    """Where an episode can be rebuilt only after all before it, thinning episodes is a warning."""
    fields = {"algorithm": "ppo_continuous_action", "environment": "BipedalWalker-v3"}
    report = check_run(make_spec(**fields, steps=2048, replay_every=5))
    assert report.ok
    assert [(f.level, f.where) for f in report.findings] == [("warning", "replay_every")]
    assert check_run(make_spec(**fields, steps=2048)).findings == []


@pytest.mark.parametrize("version", ["1.0.0", "1.2.1"])
def test_gymnasium_from_1_on_is_refused(
    make_spec: Any, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """With gymnasium 1 the scripts would train without reporting one episode, so nothing starts."""
    monkeypatch.setattr(request_module, "installed_packages", lambda: {"gymnasium": version})
    report = check_run(make_spec(steps=512))
    assert not report.ok
    finding: Finding = report.findings[0]
    assert finding.where == "packages.gymnasium"
    assert version in finding.message


@pytest.mark.parametrize(
    ("gpus", "torch", "level", "says"),
    [(1, "2.13.0+cpu", "blocking", "CPU only"), (2, "2.13.0+cu130", "warning", "stand idle")],
)
def test_gpus_that_cannot_be_used_are_reported(
    make_spec: Any,
    monkeypatch: pytest.MonkeyPatch,
    gpus: int,
    torch: str,
    level: str,
    says: str,
) -> None:
    """Asking for a GPU that the installed torch or the script cannot use is said before anything starts."""
    versions = {"gymnasium": "0.29.1", "torch": torch}
    monkeypatch.setattr(request_module, "installed_packages", lambda: versions)
    findings = check_run(make_spec(steps=512, gpus=gpus)).findings
    assert [(f.level, f.where) for f in findings] == [(level, "gpus")]
    assert says in findings[0].message


@pytest.mark.parametrize(
    ("algorithm", "environment", "smallest"),
    [
        ("dqn", "CartPole-v1", 10_011),
        ("c51", "CartPole-v1", 10_011),
        ("sac_continuous_action", "Pendulum-v1", 5_002),
    ],
)
def test_a_run_that_would_learn_nothing_is_reported(
    make_spec: Any, algorithm: str, environment: str, smallest: int
) -> None:
    """Off-policy runs that end before their first update may run, but the person hears that they learn nothing."""
    report = check_run(make_spec(algorithm=algorithm, environment=environment, steps=smallest - 1))
    assert report.ok
    assert report.plan["first_update_step"] is None
    assert [f.where for f in report.findings] == ["parameters.learning_starts"]
    assert f"Ask for {smallest:,} steps or more" in report.findings[0].message
    report = check_run(make_spec(algorithm=algorithm, environment=environment, steps=smallest))
    assert report.findings == []
    assert report.plan["first_update_step"] == smallest - 1


@pytest.fixture
def ask_check(monkeypatch: pytest.MonkeyPatch, capfdbinary: Any) -> Any:
    """Return a function that asks the worker's `check` as a client does: JSON in, JSON out."""

    def ask(**fields: Any) -> CheckReport:
        asked = {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1", **fields}
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(asked).encode())))
        assert main(CleanrlWorker(), ["check"]) == 0
        return CheckReport.model_validate_json(capfdbinary.readouterr().out)

    return ask


@pytest.mark.parametrize("seed", [-1, 2**32, 2**80, 1.5, "one"])
def test_a_seed_that_cannot_be_is_refused(ask_check: Any, seed: Any) -> None:
    """Seeds are 32 bits without a sign; anything else is a finding at `seed`."""
    report = ask_check(seed=seed)
    assert not report.ok
    assert [(f.level, f.where) for f in report.findings] == [("blocking", "seed")]


@pytest.mark.parametrize("steps", [0, -5, 2**60, "many"])
def test_a_length_that_cannot_be_is_refused(ask_check: Any, steps: Any) -> None:
    """A run of no steps, or of more than anybody could take, is a finding at `steps`."""
    report = ask_check(steps=steps)
    assert not report.ok
    assert [(f.level, f.where) for f in report.findings] == [("blocking", "steps")]
