"""One short run of each algorithm that truly learns."""

from dataclasses import dataclass, field
from typing import Any

from mosaic_worker_cleanrl.algorithm import SCRIPTS

SEED = 3


@dataclass(frozen=True)
class Case:
    """What is run, as the spec's fields say it and as the script's own command line does."""

    algorithm: str
    environment: str
    steps: int
    networks: tuple[str, ...]
    optimizers: tuple[str, ...] = ("optimizer",)
    tensors: tuple[str, ...] = ()
    parameters: dict[str, Any] = field(default_factory=dict)
    episodes: int = 10
    """Fewer would not show much."""

    @property
    def fields(self) -> dict[str, Any]:
        """Fields of the spec."""
        return {
            "algorithm": self.algorithm,
            "environment": self.environment,
            "steps": self.steps,
            "seed": SEED,
            "parameters": self.parameters,
        }

    @property
    def argv(self) -> list[str]:
        """The script's arguments."""
        given = {
            "env-id": self.environment,
            "total-timesteps": self.steps,
            "seed": SEED,
            **self.parameters,
        }
        return [f"--{name.replace('_', '-')}={value}" for name, value in given.items()]

    @property
    def needs_old_gym(self) -> bool:
        """Whether the script imports the gym that came before gymnasium."""
        return SCRIPTS[self.algorithm].imports("gym")


CASES = {
    case.algorithm: case
    for case in (
        Case("ppo", "CartPole-v1", 2048, ("agent",), episodes=30),
        Case(
            "dqn",
            "CartPole-v1",
            2048,
            ("q_network", "target_network"),
            parameters={"learning_starts": 400, "buffer_size": 1000},
            episodes=30,
        ),
        Case(
            "c51",
            "CartPole-v1",
            1500,
            ("q_network", "target_network"),
            parameters={"learning_starts": 400, "buffer_size": 1000, "batch_size": 32},
            episodes=30,
        ),
        Case(
            "sac_continuous_action",
            "Pendulum-v1",
            820,
            ("actor", "qf1", "qf2", "qf1_target", "qf2_target"),
            ("q_optimizer", "actor_optimizer", "a_optimizer"),
            ("log_alpha",),
            parameters={"learning_starts": 550, "buffer_size": 1000, "batch_size": 16},
            episodes=4,
        ),
        Case(
            "ppo_continuous_action",
            "Pendulum-v1",
            2048,
            ("agent",),
            parameters={"num_envs": 2, "num_steps": 256, "update_epochs": 2},
        ),
    )
}
