"""A run of a few hundred steps of every script that can run here, in which it learns at least once."""

from dataclasses import dataclass
from typing import Any

from mosaic_contracts.spec import ParameterValue


@dataclass(frozen=True)
class ScriptCase:
    """What is run."""

    environment: str
    steps: int
    parameters: dict[str, ParameterValue]
    is_quick: bool = False
    """Whether it belongs to the default suite, which has seconds for all of them."""

    def spec(self, algorithm: str) -> dict[str, Any]:
        """Fields of the run's spec."""
        return {
            "algorithm": algorithm,
            "environment": self.environment,
            "steps": self.steps,
            "seed": 3,
            "record": "episodes",
            "parameters": self.parameters,
        }


_BATCH: dict[str, ParameterValue] = {
    "num_envs": 2,
    "num_steps": 64,
    "num_minibatches": 2,
    "update_epochs": 1,
}
_BUFFER: dict[str, ParameterValue] = {"learning_starts": 300, "buffer_size": 1000, "batch_size": 16}
_SMALL_BUFFER: dict[str, ParameterValue] = {
    "learning_starts": 60,
    "buffer_size": 300,
    "batch_size": 8,
}
_PONG, _CART, _PENDULUM = "PongNoFrameskip-v4", "CartPole-v1", "Pendulum-v1"

SCRIPT_CASES = {
    "ppo": ScriptCase(_CART, 512, _BATCH, is_quick=True),
    "dqn": ScriptCase(_CART, 450, _BUFFER, is_quick=True),
    "c51": ScriptCase(_CART, 450, _BUFFER, is_quick=True),
    "pqn": ScriptCase(_CART, 512, _BATCH, is_quick=True),
    "sac_continuous_action": ScriptCase(_PENDULUM, 450, _BUFFER, is_quick=True),
    "td3_continuous_action": ScriptCase(_PENDULUM, 450, _BUFFER, is_quick=True),
    "ddpg_continuous_action": ScriptCase(_PENDULUM, 450, _BUFFER, is_quick=True),
    "ppo_continuous_action": ScriptCase(_PENDULUM, 512, _BATCH, is_quick=True),
    "rpo_continuous_action": ScriptCase(_PENDULUM, 512, _BATCH, is_quick=True),
    "ppo_atari": ScriptCase(_PONG, 256, _BATCH),
    "ppo_atari_lstm": ScriptCase(_PONG, 256, _BATCH),
    "ppo_atari_multigpu": ScriptCase(_PONG, 256, _BATCH),
    "dqn_atari": ScriptCase(_PONG, 250, _SMALL_BUFFER),
    "c51_atari": ScriptCase(_PONG, 250, _SMALL_BUFFER),
    "sac_atari": ScriptCase(_PONG, 250, _SMALL_BUFFER),
    "rainbow_atari": ScriptCase(_PONG, 120, _SMALL_BUFFER),
    "dqn_jax": ScriptCase(_CART, 450, _BUFFER),
    "c51_jax": ScriptCase(_CART, 450, _BUFFER),
    "ddpg_continuous_action_jax": ScriptCase(_PENDULUM, 450, _BUFFER),
    "td3_continuous_action_jax": ScriptCase(_PENDULUM, 450, _BUFFER),
    "dqn_atari_jax": ScriptCase(_PONG, 250, _SMALL_BUFFER),
    "c51_atari_jax": ScriptCase(_PONG, 250, _SMALL_BUFFER),
}
"""By the name of the script; some are in current CleanRL only."""
