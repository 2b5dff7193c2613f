"""A whole worker for Gymnasium: Q-learning on a table. Its episodes are recorded, watched live, and rebuilt later."""

import sys
from dataclasses import dataclass

import numpy as np

import mosaic_workerkit as mosaic
from mosaic_gymkit import EnvironmentRun, replay_run


@dataclass(frozen=True)
class Parameters:
    steps: int = mosaic.parameter(5000, "Environment steps in all.", minimum=1)
    epsilon: float = mosaic.parameter(0.2, "Share of steps that explore.", minimum=0, maximum=1)
    rate: float = mosaic.parameter(0.1, "Learning rate.", minimum=0, maximum=1)


LAKE = mosaic.Environment(id="FrozenLake-v1", action_space="discrete", max_steps=100, render=True)
TABLE = mosaic.Algorithm(
    id="q_table",
    title="Q-learning",
    parameters=mosaic.parameter_schema(Parameters),
    steps_parameter="steps",
)


class TableWorker(mosaic.BaseWorker):
    id, version, title = "table", "1", "Q-learning on a table"
    algorithms, environments, packages = [TABLE], [LAKE], ("gymnasium", "numpy")

    def train(self, context: mosaic.TrainContext) -> None:
        given, dice = self.arguments(context.spec, Parameters), np.random.default_rng(1)
        with EnvironmentRun(context, total_steps=given.steps) as run:
            env = run.make(context.spec.environment)
            run.record_config(given, env)
            values = np.zeros((env.observation_space.n, env.action_space.n))
            state, _ = env.reset(seed=context.spec.seed)
            while run.global_step < given.steps and not context.stop.requested:  # a safe point
                explores = dice.random() < given.epsilon or not values[state].any()
                action = int(dice.integers(4) if explores else values[state].argmax())
                after, reward, ended, cut, _ = env.step(action)
                target = reward + 0.95 * values[after].max() * (not ended)
                values[state, action] += given.rate * (target - values[state, action])
                state = env.reset()[0] if ended or cut else after
            reason, data = "stop" if context.stop.requested else "final", values.tobytes()
            context.telemetry.write_checkpoint("table.bin", data, run.global_step, reason)

    def replay(self, context: mosaic.TrainContext) -> None:
        replay_run(context)


if __name__ == "__main__":
    sys.exit(mosaic.main(TableWorker()))
