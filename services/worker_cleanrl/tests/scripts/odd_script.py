"""A script in the form of CleanRL's that misbehaves as its arguments ask."""

# ruff: noqa: T201 - scripts of this form print
import argparse
from distutils.util import strtobool

import gymnasium as gym
import torch
from torch.utils.tensorboard import SummaryWriter


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--writer", type=lambda x: bool(strtobool(x)), default=True, nargs="?", const=True
    )
    parser.add_argument(
        "--network", type=lambda x: bool(strtobool(x)), default=True, nargs="?", const=True
    )
    parser.add_argument(
        "--step", type=lambda x: bool(strtobool(x)), default=True, nargs="?", const=True
    )
    parser.add_argument(
        "--fail", type=lambda x: bool(strtobool(x)), default=False, nargs="?", const=True
    )
    # Algorithm specific arguments
    parser.add_argument("--env-id", type=str, default="Endless-v0")
    parser.add_argument("--total-timesteps", type=int, default=25000)
    return parser.parse_args()


if __name__ == "__main__":
    args = parse_args()
    if args.writer:
        writer = SummaryWriter("runs/odd")
    if args.network:
        network = torch.nn.Linear(4, 2)
    envs = gym.vector.SyncVectorEnv([lambda: gym.make(args.env_id)])
    envs.reset(seed=args.seed)
    if args.fail:
        raise ArithmeticError("the odd script was made to fail")
    if args.step:
        for step in range(args.total_timesteps):
            _, _, ended, _, _ = envs.step([0])
            if ended[0]:
                writer.add_scalar("charts/episodic_return", 0.0, step)
    print("the end")
