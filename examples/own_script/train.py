"""Random search for a linear policy (Mania et al. 2018, without the second direction). It knows nothing of MOSAIC."""

import argparse

import gymnasium
import numpy as np


def episode(env, weights, seed=None):
    observation, _ = env.reset(seed=seed)
    total, steps, is_over = 0.0, 0, False
    while not is_over:
        observation, reward, terminated, truncated, _ = env.step(
            int((weights @ observation).argmax())
        )
        total, steps, is_over = total + reward, steps + 1, terminated or truncated
    return total, steps


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--env-id", default="CartPole-v1", help="environment with discrete actions")
    parser.add_argument("--seed", type=int, default=1, help="of environment and search")
    parser.add_argument("--total-timesteps", type=int, default=20_000, help="environment steps")
    parser.add_argument("--noise", type=float, default=0.5, help="size of a try's difference")
    parser.add_argument("--out", default="policy.npy", help="file of the best policy")
    given = parser.parse_args()
    env, dice = gymnasium.make(given.env_id), np.random.default_rng(given.seed)
    best = np.zeros((env.action_space.n, env.observation_space.shape[0]))
    record, done = episode(env, best, given.seed)
    while done < given.total_timesteps:
        tried = best + given.noise * dice.normal(size=best.shape)
        total, steps = episode(env, tried)
        done += steps
        if total >= record:
            best, record = tried, total
    np.save(given.out, best)
    print(f"best return {record}")


if __name__ == "__main__":
    main()
