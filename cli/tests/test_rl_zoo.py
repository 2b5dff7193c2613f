"""Tuned parameters of RL Baselines3 Zoo: what matches is taken over, what does not is named."""

from pathlib import Path
from typing import Any

import pytest

from mosaic_cli.errors import ValueRefused
from mosaic_cli.rl_zoo import ZooEntry, read_zoo_file, sweep_with_zoo, translate
from mosaic_contracts.sweeps import SweepSpec

PPO: dict[str, Any] = {
    name: {"type": "integer" if name.startswith(("num", "update")) else "number"}
    for name in (
        *("learning_rate", "num_envs", "num_steps", "anneal_lr", "gamma", "gae_lambda"),
        *("num_minibatches", "update_epochs", "clip_coef", "ent_coef"),
    )
}
FILE = """
default: &defaults
  n_timesteps: !!float 1e5
  policy: 'MlpPolicy'
CartPole-v1:
  <<: *defaults
  n_envs: 8
  n_steps: 32
  batch_size: 256
  gae_lambda: 0.8
  gamma: 0.98
  n_epochs: 20
  ent_coef: 0.0
  learning_rate: lin_0.001
  clip_range: lin_0.2
atari:
  batch_size: 256
"""


def test_an_entry_is_translated_and_the_rest_is_named(tmp_path: Path) -> None:
    """A linear learning rate is a switch here, a batch a number of parts; a policy has no counterpart."""
    path = tmp_path / "ppo.yml"
    path.write_text(FILE)
    found = translate(read_zoo_file(path, "ppo", "CartPole-v1"), "ppo", PPO)
    assert found.steps == 100_000
    assert found.parameters == {
        "num_envs": 8,
        "num_steps": 32,
        "num_minibatches": 1,
        "gae_lambda": 0.8,
        "gamma": 0.98,
        "update_epochs": 20,
        "ent_coef": 0.0,
        "learning_rate": 0.001,
        "anneal_lr": True,
        "clip_coef": 0.2,
    }
    assert set(found.unused) == {"policy", "clip_range"}
    atari = read_zoo_file(path, "ppo_atari", "ALE/Pong-v5")
    assert translate(atari, "ppo_atari", PPO).parameters == {"num_minibatches": 8}


@pytest.mark.parametrize("bad", [{"batch_size": 0}, {"batch_size": "big"}, {"n_envs": True}])
def test_a_batch_that_is_no_number_is_named(bad: dict[str, Any]) -> None:
    """The number of parts of a rollout is left as it is."""
    found = translate({"n_envs": 8, "n_steps": 32, "batch_size": 256} | bad, "ppo", PPO)
    assert "num_minibatches" not in found.parameters
    assert "no whole number above 0" in found.unused["batch_size"]


def test_algorithms_of_the_replay_buffer_are_translated() -> None:
    """SAC has one learning rate there and two here; its entropy may tune itself."""
    known = {name: {"type": "number"} for name in ("policy_lr", "q_lr", "autotune", "batch_size")}
    entry = {"learning_rate": 7.3e-4, "ent_coef": "auto", "batch_size": 256, "train_freq": 8}
    found = translate(entry, "sac_continuous_action", known)
    assert found.parameters == {
        "policy_lr": 7.3e-4,
        "q_lr": 7.3e-4,
        "autotune": True,
        "batch_size": 256,
    }
    assert set(found.unused) == {"train_freq"}


def test_a_sweep_begins_with_the_entry() -> None:
    """What it searches is its first trial, the rest is fixed, and what the file of the sweep says wins."""
    sweep = SweepSpec.model_validate(
        {
            "run": {"steps": 500, "parameters": {"num_envs": 2}},
            "parameters": {
                "gamma": {"type": "float", "low": 0.9, "high": 0.99},
                "clip_coef": {"type": "float", "low": 0.5, "high": 0.9},
            },
        }
    )
    values: dict[str, Any] = {"gamma": 0.98, "clip_coef": 0.2, "num_envs": 8, "num_steps": 32}
    begun = sweep_with_zoo(sweep, ZooEntry(values, 100_000))
    assert begun.start_with == [{"gamma": 0.98}]
    assert begun.run == {"steps": 500, "parameters": {"num_envs": 2, "num_steps": 32}}


@pytest.mark.parametrize(
    ("algorithm", "environment", "says"),
    [
        ("dqn", "CartPole-v1", "is for ppo"),
        ("ppo", "CartPol-v1", "Did you mean CartPole-v1?"),
    ],
)
def test_another_algorithm_or_environment_is_refused(
    tmp_path: Path, algorithm: str, environment: str, says: str
) -> None:
    """Nothing is taken from an entry that is not meant."""
    path = tmp_path / "ppo.yml"
    path.write_text(FILE)
    with pytest.raises(ValueRefused, match=says.replace("?", r"\?")):
        read_zoo_file(path, algorithm, environment)
