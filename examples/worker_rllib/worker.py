"""PPO of RLlib on one node as a worker: the environment runs in this process, so that its steps are recorded."""

import sys
from dataclasses import dataclass

import mosaic_workerkit as mosaic
from mosaic_gymkit import EnvironmentRun, PolicyPlay, describe_environments, replay_run


@dataclass(frozen=True)
class Parameters:
    steps: int = mosaic.parameter(50_000, "Environment steps in all.", minimum=1)
    learning_rate: float = mosaic.parameter(3e-4, "Step size of the optimizer.", minimum=0)
    gamma: float = mosaic.parameter(0.99, "Discount.", minimum=0, maximum=1)
    batch_size: int = mosaic.parameter(500, "Steps for each update.", minimum=32)
    minibatch_size: int = mosaic.parameter(128, "Minibatch.", minimum=8)
    num_epochs: int = mosaic.parameter(5, "Passes over the steps of an update.", minimum=1)
    checkpoint: str | None = mosaic.parameter(None, "Begins with its network.", x_checkpoint=True)


ABILITIES = {"play": True, "hybrid": True, "branches": True, "warm_start": True, "resumes": False}
PPO = mosaic.Algorithm(
    id="ppo",
    title="PPO of RLlib",
    parameters=mosaic.parameter_schema(Parameters),
    action_spaces=["discrete"],
    steps_parameter="steps",
    **ABILITIES,
)


class RllibWorker(mosaic.BaseWorker):
    id, version, title, evaluates = "rllib", "1", "RLlib", True
    algorithms, environments = [PPO], describe_environments("CartPole-v1", "Acrobot-v1")
    packages = ("ray", "torch", "gymnasium", "numpy")

    def train(self, context: mosaic.TrainContext) -> None:
        given = self.arguments(context.spec, Parameters)
        with EnvironmentRun(context, total_steps=given.steps) as run:
            env = run.make(context.spec.environment)
            run.record_config(given, env)
            from learning import train  # it imports Ray and torch, which takes seconds

            train(context, run, env, given)

    def play(self, context: mosaic.TrainContext) -> None:
        given = self.arguments(context.spec, Parameters)
        with PolicyPlay(context, given) as play:
            from learning import load_policy

            play.act(load_policy(play.env, given), checkpoint=given.checkpoint)

    def replay(self, context: mosaic.TrainContext) -> None:
        replay_run(context)


if __name__ == "__main__":
    sys.exit(mosaic.main(RllibWorker()))
