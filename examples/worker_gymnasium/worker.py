"""A whole worker for Gymnasium: Q-learning on a table. Its episodes are recorded, watched live, and rebuilt later."""

import sys
from dataclasses import dataclass

import numpy as np

import mosaic_workerkit as mosaic
from mosaic_gymkit import EnvironmentRun, PolicyPlay, describe_environments, replay_run


@dataclass(frozen=True)
class Parameters:
    steps: int = mosaic.parameter(5000, "Environment steps in all.", minimum=1)
    epsilon: float = mosaic.parameter(0.2, "Share of steps that explore.", minimum=0, maximum=1)
    rate: float = mosaic.parameter(0.1, "Learning rate.", minimum=0, maximum=1)
    checkpoint: str | None = mosaic.parameter(None, "Begins with its table.", x_checkpoint=True)


ABILITIES = {"play": True, "hybrid": True, "branches": True, "warm_start": True, "resumes": False}
TABLE = mosaic.Algorithm(
    id="q_table",
    title="Q-learning",
    parameters=mosaic.parameter_schema(Parameters),
    steps_parameter="steps",
    **ABILITIES,
)


class TableWorker(mosaic.BaseWorker):
    id, version, title, evaluates = "table", "1", "Q-learning on a table", True
    algorithms, packages = [TABLE], ("gymnasium", "numpy")
    environments = describe_environments("FrozenLake-v1", "CliffWalking-v1")

    def train(self, context: mosaic.TrainContext) -> None:
        given = self.arguments(context.spec, Parameters)
        dice = np.random.default_rng(context.spec.seed)
        with EnvironmentRun(context, total_steps=given.steps) as run:
            env = run.make(context.spec.environment)
            run.record_config(given, env)
            shape = (env.observation_space.n, env.action_space.n)
            values = np.load(given.checkpoint) if given.checkpoint else np.zeros(shape)
            state, _ = env.reset(seed=context.spec.seed)
            while run.global_step < given.steps and not context.stop.requested:  # a safe point
                explores = dice.random() < given.epsilon or not values[state].any()
                action = int(dice.integers(shape[1]) if explores else values[state].argmax())
                after, reward, ended, cut, _ = env.step(action)
                target = reward + 0.95 * values[after].max() * (not ended)
                values[state, action] += given.rate * (target - values[state, action])
                state = env.reset()[0] if ended or cut else after
            reason, step = "stop" if context.stop.requested else "final", run.global_step
            write = context.telemetry.write_checkpoint
            write("table.npy", lambda draft: save(draft, values), step, reason)

    def play(self, context: mosaic.TrainContext) -> None:
        given = self.arguments(context.spec, Parameters)
        with PolicyPlay(context, given) as play:
            values = np.load(given.checkpoint)
            play.act(lambda state: int(values[state].argmax()), checkpoint=given.checkpoint)

    def replay(self, context: mosaic.TrainContext) -> None:
        replay_run(context)


def save(path, values):
    with path.open("wb") as file:
        np.save(file, values)


if __name__ == "__main__":
    sys.exit(mosaic.main(TableWorker()))
