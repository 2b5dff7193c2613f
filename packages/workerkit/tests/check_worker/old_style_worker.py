"""A worker as authors wrote it before 1.0, with flags and hashes of its own. It must still pass."""

import json
import random
import sys
from pathlib import Path
from typing import Any

from mosaic_contracts.spec import RecordLevel, RunSpec
from mosaic_contracts.worker import Algorithm, CheckReport, Environment, Finding, WorkerDescription
from mosaic_workerkit.entry import TrainContext, main
from mosaic_workerkit.stephash import step_hash

PULLS, TRUNCATED = 100, 2
PARAMETERS: dict[str, dict[str, Any]] = {
    "steps": {"type": "integer", "minimum": 1, "default": 5000, "description": "Pulls."},
    "epsilon": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.1, "description": "Share of tries."},
    "arms": {"type": "integer", "minimum": 2, "maximum": 100, "default": 10, "description": "How many arms."},
}  # fmt: skip
GREEDY = Algorithm(
    id="epsilon_greedy",
    title="Epsilon-greedy",
    parameters={"type": "object", "properties": PARAMETERS, "additionalProperties": False},
    steps_parameter="steps",
    default_environment="Bandit-v0",
    warm_start=False,  # true: `train` can go on from a checkpoint
    play=False,  # true: `play` shows the trained policy
)


class FlagsWorker:
    def describe(self) -> WorkerDescription:
        return WorkerDescription(
            worker="minimal",
            version="1",
            title="A bandit in under 100 lines",
            record_levels=[level.value for level in RecordLevel],
            algorithms=[GREEDY],
            environments=[Environment(id="Bandit-v0", action_space="discrete", max_steps=PULLS)],
        )

    def check(self, spec: RunSpec) -> CheckReport:
        unknown = sorted(set(spec.parameters) - set(PARAMETERS))
        wrong = [
            f"there is no parameter {name!r}; known: {', '.join(PARAMETERS)}" for name in unknown
        ]
        if (spec.algorithm, spec.environment) != (GREEDY.id, GREEDY.default_environment):
            wrong.append(f"only {GREEDY.id} in {GREEDY.default_environment} can be trained here")
        findings = [Finding(level="blocking", where="spec", message=words) for words in wrong]
        return CheckReport(ok=not wrong, findings=findings, plan=arguments(spec))

    def train(self, context: TrainContext) -> None:
        spec, telemetry, report = context.spec, context.telemetry, self.check(context.spec)
        if not report.ok:
            raise ValueError("; ".join(finding.message for finding in report.findings))
        steps, epsilon, arms = (report.plan[name] for name in PARAMETERS)
        config = {"algorithm": spec.algorithm, "environment": spec.environment, "num_envs": 1}
        config |= {"arguments": report.plan, "total_steps": steps, "record": spec.record.value}
        one, choice = {"kind": "discrete", "n": 1}, {"kind": "discrete", "n": arms}
        telemetry.config(config | {"spaces": {"observation": one, "action": choice}})
        dice = random.Random(spec.seed)
        truth, value, pulls = [dice.gauss(0, 1) for _ in range(arms)], [0.0] * arms, [0] * arms
        total, step = 0.0, 0
        while step < steps and not context.stop.requested:  # a safe point: all is between two pulls
            episode, place = divmod(step, PULLS)
            recorded = spec.record.has_steps and episode % spec.replay_every == 0
            if place == 0 and recorded:
                telemetry.episode_start(0, episode, {"way": "chain"}, step_hash(0))
            best = max(range(arms), key=value.__getitem__)
            arm = dice.randrange(arms) if dice.random() < epsilon else best
            reward = dice.gauss(truth[arm], 1)
            pulls[arm] += 1
            value[arm] += (reward - value[arm]) / pulls[arm]
            total, step = total + reward, step + 1
            flags = TRUNCATED if place + 1 == PULLS else 0
            if recorded:
                telemetry.step(
                    0, episode, place + 1, arm, reward, flags, step_hash(0, reward, flags)
                )
            if flags and spec.record.has_episodes:
                telemetry.episode(0, episode, PULLS, total, flags, 0.0, step)
            if flags:
                telemetry.metric("charts/episodic_return", step, total)
                total = 0.0
            telemetry.progress(step, steps)
        reason = "stop" if context.stop.requested else "final"
        telemetry.write_checkpoint("bandit.json", lambda path: save(path, value), step, reason)


def arguments(spec: RunSpec) -> dict[str, Any]:
    defaults = {name: schema["default"] for name, schema in PARAMETERS.items()}
    return defaults | ({"steps": spec.steps} if spec.steps else {}) | dict(spec.parameters)


def save(path: Path, value: list[float]) -> None:
    path.write_text(json.dumps(value))


if __name__ == "__main__":
    sys.exit(main(FlagsWorker()))
