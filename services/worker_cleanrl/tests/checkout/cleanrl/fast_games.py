"""A script whose games this worker cannot have."""

from dataclasses import dataclass

import envpool
import tyro
from torch.utils.tensorboard import SummaryWriter


@dataclass
class Args:
    seed: int = 1
    env_id: str = "Pong-v5"
    total_timesteps: int = 1000


if __name__ == "__main__":
    args = tyro.cli(Args)
    envs = envpool.make(args.env_id, env_type="gym", seed=args.seed)
    SummaryWriter("runs").close()
