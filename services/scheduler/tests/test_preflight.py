"""What is refused before anything starts, and in which words."""

from typing import Any

import pytest

from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.worker import Algorithm, Environment, WorkerDescription
from mosaic_scheduler.admission.check import MAX_FINDINGS
from mosaic_scheduler.admission.context import parse_spec
from mosaic_scheduler.admission.fields import check_spec
from mosaic_scheduler.executors.protocol import Inventory

DESCRIPTION = WorkerDescription(
    worker="w",
    version="1",
    title="W",
    record_levels=["metrics", "replay"],
    algorithms=[
        Algorithm(
            id="ppo",
            title="PPO",
            steps_parameter="total_timesteps",
            seed_parameter="seed",
            action_spaces=["discrete"],
            parameters={
                "properties": {
                    "learning_rate": {"type": "number", "exclusiveMinimum": 0},
                    "num_envs": {"type": "integer", "minimum": 1, "maximum": 64},
                    "anneal_lr": {"type": "boolean"},
                    "target_kl": {"anyOf": [{"type": "number"}, {"type": "null"}]},
                    "clip": {"type": ["number", "null"]},
                    "mode": {"enum": ["a", "b"]},
                    "width": {"enum": [1, 2]},
                    "total_timesteps": {"type": "integer"},
                    "seed": {"type": "integer"},
                }
            },
        )
    ],
    environments=[
        Environment(id="CartPole-v1", action_space="discrete"),
        Environment(id="Pendulum-v1", action_space="box"),
        Environment(id="Acrobot-v1"),
    ],
)
GOOD: dict[str, Any] = {"worker": "w", "algorithm": "ppo", "environment": "CartPole-v1"}


def _findings(changes: dict[str, Any]) -> list[tuple[str, str, str, list[str]]]:
    spec, checks = parse_spec({**GOOD, **changes})
    if spec is not None:
        checks = check_spec(spec, DESCRIPTION, Inventory(cpus=2))
    findings = [check.finding() for check in checks]
    return [(f.where, f.code, f.message, f.nearest) for f in findings]


@pytest.mark.parametrize(
    ("changes", "where", "code", "says", "nearest"),
    [
        ({"sed": 1}, "sed", ProblemCode.SPEC_INVALID, "did you mean 'seed'", "seed"),
        (
            {"parameters": {"mode": "a\0"}},
            "parameters.mode",
            ProblemCode.SPEC_INVALID,
            "must not contain a NUL character",
            None,
        ),
        (
            {"environment": "CartPole-v1\0"},
            "environment",
            ProblemCode.SPEC_INVALID,
            "must not contain a NUL character",
            None,
        ),
        ({"seed": -1}, "seed", ProblemCode.SPEC_INVALID, "must be at least 0", None),
        ({"algorithm": "pp"}, "algorithm", ProblemCode.ALGORITHM_UNKNOWN, "'ppo'", "ppo"),
        (
            {"environment": "Cartpole-v1"},
            "environment",
            ProblemCode.ENVIRONMENT_UNKNOWN,
            "did you mean 'CartPole-v1'",
            "CartPole-v1",
        ),
        (
            {"parameters": {"learning-rat": 0.1}},
            "parameters.learning-rat",
            ProblemCode.PARAMETER_UNKNOWN,
            "did you mean 'learning_rate'",
            "learning_rate",
        ),
        (
            {"parameters": {"num_envs": "four"}},
            "parameters.num_envs",
            ProblemCode.PARAMETER_INVALID,
            "must be integer, not 'four'",
            None,
        ),
        (
            {"parameters": {"num_envs": True}},
            "parameters.num_envs",
            ProblemCode.PARAMETER_INVALID,
            "must be integer",
            None,
        ),
        (
            {"parameters": {"num_envs": 65}},
            "parameters.num_envs",
            ProblemCode.PARAMETER_INVALID,
            "at most 64",
            None,
        ),
        (
            {"parameters": {"learning_rate": 0}},
            "parameters.learning_rate",
            ProblemCode.PARAMETER_INVALID,
            "greater than 0",
            None,
        ),
        (
            {"parameters": {"target_kl": "x"}},
            "parameters.target_kl",
            ProblemCode.PARAMETER_INVALID,
            "must be number, not 'x' or must be null",
            None,
        ),
        (
            {"parameters": {"mode": "c"}},
            "parameters.mode",
            ProblemCode.PARAMETER_INVALID,
            "one of 'a', 'b'",
            None,
        ),
        (
            {"parameters": {"width": True}},
            "parameters.width",
            ProblemCode.PARAMETER_INVALID,
            "one of 1, 2, not True",
            None,
        ),
        ({"seed": True}, "seed", ProblemCode.SPEC_INVALID, "must be a number", None),
        (
            {"steps": 10, "parameters": {"total_timesteps": 20}},
            "parameters.total_timesteps",
            ProblemCode.PARAMETER_INVALID,
            "set by `steps` already",
            None,
        ),
        (
            {"parameters": {"seed": 20}},
            "parameters.seed",
            ProblemCode.PARAMETER_INVALID,
            "set by `seed`",
            None,
        ),
        (
            {"cpus": 8},
            "cpus",
            ProblemCode.RESOURCES_IMPOSSIBLE,
            "needs 8 cores, this machine gives 2",
            None,
        ),
        (
            {"environment": "Pendulum-v1"},
            "environment",
            ProblemCode.SPEC_INVALID,
            "has a box action space, and ppo takes discrete only",
            None,
        ),
        ({"record": "full"}, "record", ProblemCode.SPEC_INVALID, "metrics, replay", None),
        ({"kind": "play"}, "kind", ProblemCode.SPEC_INVALID, "one of train", None),
    ],
)
def test_one_mistake_is_one_finding(
    changes: dict[str, Any], where: str, code: str, says: str, nearest: str | None
) -> None:
    """A spec with one mistake is refused with its place, code, words and the nearest name."""
    ((found_where, found_code, message, found_nearest),) = _findings(changes)
    assert (found_where, found_code) == (where, code)
    assert says in message
    assert (found_nearest[0] if found_nearest else None) == nearest


def test_a_good_spec_has_no_finding() -> None:
    """Everything a person may say, said right."""
    parameters: dict[str, Any] = {"learning_rate": 1e-3, "num_envs": 4, "anneal_lr": False}
    parameters |= {"target_kl": None, "clip": None, "mode": "a"}
    assert _findings({"steps": 10, "parameters": parameters, "cpus": 2}) == []


def test_all_mistakes_are_told_at_once() -> None:
    """Two mistakes are two findings."""
    assert len(_findings({"algorithm": "x", "cpus": 99})) == 2


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**400])
@pytest.mark.parametrize("name", ["num_envs", "learning_rate", "target_kl", "mode"])
def test_an_integer_beyond_64_bits_is_refused(name: str, value: int) -> None:
    """No schema of a worker lets a number through that the run's own events could not hold."""
    where, code, message, _ = _findings({"parameters": {name: value}})[0]
    assert (where, code) == (f"parameters.{name}", ProblemCode.PARAMETER_INVALID)
    assert "must fit 64 bits" in message


def test_findings_are_bounded() -> None:
    """However much is wrong, the answer stays small: it must fit one message and hold up nobody."""
    unknown = {f"k{n}": 1 for n in range(5000)}
    malformed: dict[str, list[int]] = {f"k{n}": [] for n in range(5000)}
    assert len(_findings({"parameters": unknown})) == MAX_FINDINGS
    assert len(_findings({"parameters": malformed})) == MAX_FINDINGS


def test_an_algorithm_that_cannot_run_is_refused() -> None:
    """With the worker's own reason, or with the command that brings what it lacks."""
    ppo = DESCRIPTION.algorithms[0]
    for update, says in (
        ({"unavailable": "procgen has no package"}, "procgen has no package"),
        ({"bundle": "jax", "install": "./mosaic sync w --bundle jax"}, "sync w --bundle jax"),
    ):
        described = DESCRIPTION.model_copy(update={"algorithms": [ppo.model_copy(update=update)]})
        spec, _ = parse_spec(GOOD)
        assert spec is not None
        (check,) = check_spec(spec, described, Inventory(cpus=2))
        assert check.finding().where == "algorithm"
        assert says in check.finding().message
