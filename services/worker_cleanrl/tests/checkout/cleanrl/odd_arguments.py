"""A script whose arguments this worker cannot read."""

from dataclasses import dataclass

import tyro
from torch.utils.tensorboard import SummaryWriter


@dataclass
class Args:
    env_id: str = "CartPole-v1"
    seed: int = 1
    total_timesteps: int = 1000
    folder: bytes = b"runs"


if __name__ == "__main__":
    args = tyro.cli(Args)
    SummaryWriter(args.folder.decode()).close()
