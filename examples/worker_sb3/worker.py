"""Stable-Baselines3 as a worker: PPO, A2C, DQN, SAC and TD3, with its callbacks and VecNormalize."""

import sys
from dataclasses import dataclass

import mosaic_workerkit as mosaic
from mosaic_gymkit import EnvironmentRun, PolicyPlay, describe_environments, replay_run


@dataclass(frozen=True)
class Common:  # names and defaults are those of Stable-Baselines3 where it has them
    steps: int = mosaic.parameter(50_000, "Environment steps in all.", minimum=1)
    layers: str = mosaic.parameter("", "Hidden layers, e.g. 64,64; empty: the library's own.")
    normalize: bool = mosaic.parameter(False, "VecNormalize: observations and rewards.")
    num_envs: int = mosaic.parameter(1, "Environments that are stepped.", minimum=1, maximum=64)
    eval_every: int = mosaic.parameter(0, "Steps between evaluations; 0: none.", minimum=0)
    save_every: int = mosaic.parameter(10_000, "Steps between checkpoints; 0: none.", minimum=0)
    sampled: bool = mosaic.parameter(False, "Whether a play draws actions as the training did.")
    checkpoint: str | None = mosaic.parameter(None, "Begins with its networks.", x_checkpoint=True)
    learning_rate: float = mosaic.parameter(3e-4, "Step size of the optimizer.", minimum=0)
    gamma: float = mosaic.parameter(0.99, "Discount.", minimum=0, maximum=1)


@dataclass(frozen=True)
class OnPolicy(Common):
    n_steps: int = mosaic.parameter(2048, "Steps of each environment per update.", minimum=2)
    gae_lambda: float = mosaic.parameter(0.95, "Decay of the advantages.", minimum=0, maximum=1)
    ent_coef: float = mosaic.parameter(0.0, "Weight of the entropy.", minimum=0)


@dataclass(frozen=True)
class Ppo(OnPolicy):
    batch_size: int = mosaic.parameter(64, "Minibatch.", minimum=2)
    n_epochs: int = mosaic.parameter(10, "Passes over the steps of an update.", minimum=1)
    clip_range: float = mosaic.parameter(0.2, "Clipping of the policy's ratio.", minimum=0)


@dataclass(frozen=True)
class OffPolicy(Common):
    buffer_size: int = mosaic.parameter(1_000_000, "Transitions that are kept.", minimum=1)
    learning_starts: int = mosaic.parameter(100, "Steps before the first update.", minimum=0)
    batch_size: int = mosaic.parameter(256, "Minibatch.", minimum=1)


@dataclass(frozen=True)
class Exploring(OffPolicy):
    exploration_fraction: float = mosaic.parameter(0.1, "Share of the steps that explores less.")


A2C = mosaic.with_defaults(OnPolicy, learning_rate=7e-4, n_steps=5, gae_lambda=1.0)
TD3 = mosaic.with_defaults(OffPolicy, learning_rate=1e-3)
DQN = mosaic.with_defaults(Exploring, learning_rate=1e-4, batch_size=32)
ALGORITHMS = {"ppo": Ppo, "a2c": A2C, "dqn": DQN, "sac": OffPolicy, "td3": TD3}
SPACES = {"dqn": ["discrete"], "sac": ["box"], "td3": ["box"]}
ABILITIES = {"play": True, "hybrid": True, "branches": True, "warm_start": True, "resumes": False}
LISTED = [
    mosaic.Algorithm(
        id=name,
        title=name.upper(),
        parameters=mosaic.parameter_schema(kind),
        action_spaces=SPACES.get(name, ["discrete", "box"]),
        steps_parameter="steps",
        **ABILITIES,
    )
    for name, kind in ALGORITHMS.items()
]


class Sb3Worker(mosaic.BaseWorker):
    id, version, title, evaluates = "sb3", "1", "Stable-Baselines3", True
    algorithms, environments = LISTED, describe_environments("CartPole-v1", "Pendulum-v1")
    packages = ("stable-baselines3", "torch", "gymnasium", "numpy")

    def train(self, context: mosaic.TrainContext) -> None:
        given = self.arguments(context.spec, ALGORITHMS[context.spec.algorithm])
        with EnvironmentRun(context, total_steps=given.steps) as run:
            envs = [run.make(context.spec.environment) for _ in range(given.num_envs)]
            run.record_config(given, envs[0], num_envs=given.num_envs)
            from learning import train  # it imports torch, which takes seconds

            train(context, envs, given)

    def play(self, context: mosaic.TrainContext) -> None:
        given = self.arguments(context.spec, ALGORITHMS[context.spec.algorithm])
        with PolicyPlay(context, given) as play:
            from learning import play_checkpoint

            play_checkpoint(play, context.spec, given)

    def replay(self, context: mosaic.TrainContext) -> None:
        replay_run(context)


if __name__ == "__main__":
    sys.exit(mosaic.main(Sb3Worker()))
