"""A whole worker: epsilon-greedy pulls of a bandit's arms. No library but mosaic_workerkit."""

import json
import random
import sys
from dataclasses import dataclass

import mosaic_workerkit as mosaic


@dataclass(frozen=True)
class Parameters:
    steps: int = mosaic.parameter(5000, "Pulls in all.", minimum=1)
    epsilon: float = mosaic.parameter(0.1, "Share of pulls that explore.", minimum=0, maximum=1)
    arms: int = mosaic.parameter(10, "Number of arms.", minimum=2, maximum=100)


SCHEMA, PULLS = mosaic.parameter_schema(Parameters), 100
BANDIT = mosaic.Environment(id="Bandit-v0", action_space="discrete", max_steps=PULLS)
GREEDY = mosaic.Algorithm(
    id="epsilon_greedy", title="Epsilon-greedy", parameters=SCHEMA, steps_parameter="steps"
)


class BanditWorker(mosaic.BaseWorker):
    id, version, title = "minimal", "1", "A bandit in under 50 lines"
    algorithms, environments = [GREEDY], [BANDIT]

    def train(self, context: mosaic.TrainContext) -> None:
        given, dice = self.arguments(context.spec, Parameters), random.Random(context.spec.seed)
        spaces = {"observation": mosaic.discrete(1), "action": mosaic.discrete(given.arms)}
        context.record_config(given, spaces, total_steps=given.steps)
        recorder = mosaic.EpisodeRecorder(context.telemetry, total_steps=given.steps)
        truth = [dice.gauss(0, 1) for _ in range(given.arms)]
        values, pulls = [0.0] * given.arms, [0] * given.arms
        while recorder.global_step < given.steps and not context.stop.requested:  # a safe point
            if not recorder.is_open:
                recorder.reset(0)
            best, explores = values.index(max(values)), dice.random() < given.epsilon
            arm = dice.randrange(given.arms) if explores else best
            reward, pulls[arm] = dice.gauss(truth[arm], 1), pulls[arm] + 1
            values[arm] += (reward - values[arm]) / pulls[arm]
            recorder.step(arm, reward, 0, truncated=recorder.length + 1 == PULLS)
        reason, model = "stop" if context.stop.requested else "final", json.dumps(values)
        context.telemetry.write_checkpoint("bandit.json", model, recorder.global_step, reason)


if __name__ == "__main__":
    sys.exit(mosaic.main(BanditWorker()))
