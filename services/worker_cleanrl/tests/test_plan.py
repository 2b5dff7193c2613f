"""What `check` finds, and the command line it plans."""

from typing import Any

import pytest

from mosaic_contracts.worker import Finding
from mosaic_worker_cleanrl import plan as plan_module
from mosaic_worker_cleanrl.plan import check_run, make_plan


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


def test_steps_that_make_no_whole_batch_are_told(make_spec: Any) -> None:
    """The person hears how many steps PPO will really take."""
    report = check_run(make_spec(steps=1000))
    assert report.ok
    assert report.plan["total_steps"] == 512
    assert [(f.level, f.where) for f in report.findings] == [("warning", "steps")]


@pytest.mark.parametrize(
    ("fields", "where", "code", "says", "nearest"),
    [
        ({"kind": "evaluate"}, "kind", "spec_invalid", "no mode 'evaluate'", None),
        ({"algorithm": "pqo"}, "algorithm", "algorithm_unknown", "ppo, dqn", "ppo"),
        (
            {"environment": "CartPol-v1"},
            "environment",
            "environment_unknown",
            "Did you mean: CartPole?",
            "CartPole-v1",
        ),
        (
            {"environment": "LunarLander-v1"},
            "environment",
            "environment_unknown",
            "use LunarLander-v2 instead",
            "LunarLander-v2",
        ),
        (
            {"environment": "CartPole"},
            "environment",
            "environment_unknown",
            "names no version",
            "CartPole-v1",
        ),
        (
            {"environment": "Hopper-v4"},
            "environment",
            "environment_unknown",
            "need to install mujoco",
            None,
        ),
        (
            {"environment": "Pendulum-v1"},
            "environment",
            "parameter_invalid",
            "acts in discrete spaces only",
            None,
        ),
        (
            {"environment": "FrozenLake-v1"},
            "environment",
            "parameter_invalid",
            "observes box spaces only",
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
        ({"parameters": {"seed": 2}}, "parameters.seed", "parameter_invalid", "field", None),
        ({"parameters": {"env-id": "x"}}, "parameters.env-id", "parameter_invalid", "field", None),
        (
            {"steps": 600, "parameters": {"total_timesteps": 600}},
            "parameters.total_timesteps",
            "parameter_invalid",
            "Keep one",
            None,
        ),
        ({"steps": 10}, "steps", "parameter_invalid", "512 steps or more", None),
        ({"parameters": {"track": True}}, "parameters.track", "parameter_invalid", "off", None),
        (
            {"parameters": {"capture_video": True}},
            "parameters.capture_video",
            "parameter_invalid",
            "off",
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


@pytest.mark.parametrize("version", ["1.0.0", "1.2.1"])
def test_gymnasium_from_1_on_is_refused(
    make_spec: Any, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """With gymnasium 1 the scripts would train without reporting one episode, so nothing starts."""
    monkeypatch.setattr(plan_module, "installed_packages", lambda: {"gymnasium": version})
    report = check_run(make_spec(steps=512))
    assert not report.ok
    finding: Finding = report.findings[0]
    assert finding.where == "packages.gymnasium"
    assert version in finding.message


@pytest.mark.parametrize(
    ("gpus", "torch", "level", "says"),
    [(1, "2.13.0+cpu", "blocking", "CPU only"), (2, "2.13.0+cu130", "warning", "stand idle")],
)
def test_gpus_that_cannot_be_used_are_told(
    make_spec: Any,
    monkeypatch: pytest.MonkeyPatch,
    gpus: int,
    torch: str,
    level: str,
    says: str,
) -> None:
    """Asking for a GPU that the installed torch or the script cannot use is said before anything starts."""
    versions = {"gymnasium": "0.29.1", "torch": torch}
    monkeypatch.setattr(plan_module, "installed_packages", lambda: versions)
    findings = check_run(make_spec(steps=512, gpus=gpus)).findings
    assert [(f.level, f.where) for f in findings] == [(level, "gpus")]
    assert says in findings[0].message


def test_a_run_that_would_learn_nothing_is_told(make_spec: Any) -> None:
    """DQN that ends before its first update may run, but the person hears that it learns nothing."""
    report = check_run(make_spec(algorithm="dqn", steps=5000))
    assert report.ok
    assert [f.where for f in report.findings] == ["parameters.learning_starts"]
    assert check_run(make_spec(algorithm="dqn", steps=20000)).findings == []
