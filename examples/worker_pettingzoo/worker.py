"""Several agents in environments of PettingZoo: each learns its own linear policy by REINFORCE (Williams 1992)."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import mosaic_workerkit as mosaic
from mosaic_gymkit import (
    EnvironmentRun,
    PolicyPlay,
    describe_environments,
    register_agents,
    replay_run,
)


def spread(**arguments):
    from mpe2 import simple_spread_v3

    return simple_spread_v3.parallel_env(**arguments)


def adversary(**arguments):
    from mpe2 import simple_adversary_v3

    return simple_adversary_v3.parallel_env(**arguments)


register_agents("SimpleSpread-v3", spread)
register_agents("SimpleAdversary-v3", adversary)


@dataclass(frozen=True)
class Parameters:
    steps: int = mosaic.parameter(20_000, "Environment steps in all.", minimum=1)
    rate: float = mosaic.parameter(0.01, "Learning rate.", minimum=0)
    gamma: float = mosaic.parameter(0.95, "Discount.", minimum=0, maximum=1)
    checkpoint: str | None = mosaic.parameter(None, "Begins with its policies.", x_checkpoint=True)


REINFORCE = mosaic.Algorithm(
    id="reinforce",
    title="REINFORCE, one policy for each agent",
    parameters=mosaic.parameter_schema(Parameters),
    steps_parameter="steps",
    tells=["agents"],
    play=True,
    warm_start=True,
    resumes=False,
)


class Policies:
    """A linear policy for each agent, and what it saw and did in this episode."""

    def __init__(self, env, dice, checkpoint):
        self.dice, self.baseline = dice, {}
        self.weights = {
            name: np.zeros((space.n, env.observation_space[name].shape[0] + 1))
            for name, space in env.action_space.items()
        }
        if checkpoint:
            saved = json.loads(Path(checkpoint).read_text("utf-8"))
            self.weights = {name: np.array(each) for name, each in saved.items()}

    def chances(self, name, observation):
        values = self.weights[name] @ np.append(observation, 1.0)
        chances = np.exp(values - values.max())
        return chances / chances.sum()

    def draw(self, observations):
        chances = {name: self.chances(name, seen) for name, seen in observations.items()}
        return {name: int(self.dice.choice(len(p), p=p)) for name, p in chances.items()}

    def best(self, observations):
        return {name: int(self.chances(name, seen).argmax()) for name, seen in observations.items()}

    def learn(self, episode, given):
        for name, weights in self.weights.items():
            gain, change = 0.0, np.zeros_like(weights)
            for observations, actions, rewards in reversed(episode):
                gain = rewards.get(name, 0.0) + given.gamma * gain
                baseline = self.baseline.get(name, gain)
                self.baseline[name] = baseline + 0.01 * (gain - baseline)
                surprise = -self.chances(name, observations[name])
                surprise[actions[name]] += 1.0
                change += (gain - baseline) * np.outer(surprise, np.append(observations[name], 1.0))
            weights += given.rate * change / len(episode)


class AgentsWorker(mosaic.BaseWorker):
    id, version, title, evaluates = "pettingzoo", "1", "PettingZoo: several agents", True
    algorithms, packages = [REINFORCE], ("PettingZoo", "mpe2", "gymnasium", "numpy")
    environments = describe_environments("SimpleSpread-v3", "SimpleAdversary-v3")

    def train(self, context: mosaic.TrainContext) -> None:
        given = self.arguments(context.spec, Parameters)
        with EnvironmentRun(context, total_steps=given.steps) as run:
            env = run.make(context.spec.environment)
            run.record_config(given, env, agents=list(env.action_space))
            dice = np.random.default_rng(context.spec.seed)
            policies, seed = Policies(env, dice, given.checkpoint), context.spec.seed
            while run.global_step < given.steps and not context.stop.requested:  # a safe point
                episode, is_over = [], False
                seen, _ = env.reset(seed=seed)
                seed = None
                while not is_over:
                    actions = policies.draw(seen)
                    after, _, ended, cut, info = env.step(actions)
                    episode.append((seen, actions, info["rewards"]))
                    seen, is_over = after, ended or cut
                policies.learn(episode, given)
            reason = "stop" if context.stop.requested else "final"
            saved = json.dumps({name: each.tolist() for name, each in policies.weights.items()})
            context.telemetry.write_checkpoint("policies.json", saved, run.global_step, reason)

    def play(self, context: mosaic.TrainContext) -> None:
        given = self.arguments(context.spec, Parameters)
        with PolicyPlay(context, given) as play:
            policies = Policies(play.env, None, given.checkpoint)
            play.act(policies.best, checkpoint=given.checkpoint)

    def replay(self, context: mosaic.TrainContext) -> None:
        replay_run(context)


if __name__ == "__main__":
    sys.exit(mosaic.main(AgentsWorker()))
