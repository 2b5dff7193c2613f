"""Q-learning as textbooks have it, on `env.step`. The loop on the table is held equal to it, bit for bit."""

import time

from mosaic_worker_spade.learning.learner import Learner
from mosaic_worker_spade.learning.loop import LoopRecorder
from mosaic_workerkit.stephash import step_hash


def run_reference(
    learner: Learner, env_seed: int, steps: int, recorder: LoopRecorder | None = None
) -> list[tuple[int, float]]:
    """Learn for so many steps by `env.step`; returns length and return of each finished episode."""
    world = learner.world
    env = world.make()
    rates, q, numbers = learner.rates, learner.q, learner.choice_draws
    episodes: list[tuple[int, float]] = []
    done = 0
    seed: int | None = env_seed
    while done < steps:
        began = time.monotonic()
        state = int(env.reset(seed=seed)[0])
        listener = recorder if recorder and recorder.wants_steps(learner.counts.episodes) else None
        if listener:
            listener.begin(learner, state, None)
        seed = None
        length, total, over, terminated, reward = 0, 0.0, False, False, 0.0
        while not over and done < steps:
            explored = numbers.next() < learner.epsilon
            any_action = numbers.next() if explored else 0.0
            action = int(any_action * world.actions) if explored else learner.greedy(state)
            result = env.step(action)
            after, reward, terminated = int(result[0]), float(result[1]), bool(result[2])
            target = reward if terminated else reward + rates.gamma * max(q[after])
            q[state][action] += rates.alpha * (target - q[state][action])
            learner.visits[state][action] += 1
            state, length, total, done = after, length + 1, total + reward, done + 1
            over = terminated or bool(result[3])
            if listener:
                flags = int(terminated) | 2 * int(result[3])
                digest = step_hash(after, reward, flags)
                listener.step(length, action, explored, reward, flags, digest, after)
        learner.counts.steps = done
        if over:
            episodes.append((length, total))
            learner.epsilon = rates.lowered(learner.epsilon)
            learner.note_end(state, ended=terminated, success=terminated and reward > 0)
            if recorder:
                flags, spent_s = 2 - int(terminated), time.monotonic() - began
                recorder.end(learner, length, total, flags, terminated and reward > 0, spent_s)
    env.close()
    return episodes
