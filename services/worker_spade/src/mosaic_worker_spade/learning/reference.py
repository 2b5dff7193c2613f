"""Q-learning as textbooks have it, on `env.step`. The loop on the table is held equal to it, bit for bit."""

from mosaic_worker_spade.learning.learner import Learner


def run_reference(learner: Learner, env_seed: int, steps: int) -> list[tuple[int, float]]:
    """Learn for so many steps by `env.step`; returns length and return of each finished episode."""
    env = learner.world.make()
    rates, q, numbers = learner.rates, learner.q, learner.choice_draws
    episodes: list[tuple[int, float]] = []
    done = 0
    seed: int | None = env_seed
    while done < steps:
        state = int(env.reset(seed=seed)[0])
        seed = None
        length, total, over = 0, 0.0, False
        while not over and done < steps:
            if numbers.next() < learner.epsilon:
                action = int(numbers.next() * learner.world.actions)
            else:
                action = learner.greedy(state)
            told = env.step(action)
            after, reward, terminated = int(told[0]), float(told[1]), bool(told[2])
            target = reward if terminated else reward + rates.gamma * max(q[after])
            q[state][action] += rates.alpha * (target - q[state][action])
            learner.visits[state][action] += 1
            state, length, total, done = after, length + 1, total + reward, done + 1
            over = terminated or bool(told[3])
        if over:
            episodes.append((length, total))
            learner.epsilon = rates.lowered(learner.epsilon)
    env.close()
    return episodes
