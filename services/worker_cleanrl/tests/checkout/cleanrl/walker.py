"""A script that nobody knows by name, in the form of current CleanRL."""

import os
from dataclasses import dataclass, field
from typing import List, Literal, Optional  # noqa: UP035 - as such scripts have them

import gymnasium as gym
import numpy as np
import torch
import tyro
from helper import ANSWER
from torch import nn
from torch.utils.tensorboard import SummaryWriter


@dataclass
class Args:
    exp_name: str = os.path.basename(__file__)[: -len(".py")]  # noqa: PTH119 - as such scripts have it
    seed: int = 1
    cuda: bool = False
    """whether a GPU is used"""

    # Algorithm specific arguments
    env_id: str = "CartPole-v1"
    total_timesteps: int = 256
    learning_rate: float = 1e-3
    """the step size"""
    num_envs: int = 2
    num_steps: int = 32
    kind: Literal["plain", "wide"] = "plain"
    target: Optional[float] = None  # noqa: UP045 - as such scripts have it
    layers: List[int] = field(default_factory=lambda: [8, 8])  # noqa: UP006 - as such scripts have it
    batch_size: int = 0


class Agent(nn.Module):
    def __init__(self, envs, layers):
        super().__init__()
        size = int(np.prod(envs.single_observation_space.shape))
        self.network = nn.Sequential(
            nn.Linear(size, layers[0]), nn.Tanh(), nn.Linear(layers[0], envs.single_action_space.n)
        )


if __name__ == "__main__":
    args = tyro.cli(Args)
    args.batch_size = int(args.num_envs * args.num_steps)
    writer = SummaryWriter(f"runs/{args.exp_name}")
    envs = gym.vector.SyncVectorEnv(
        [
            lambda: gym.wrappers.RecordEpisodeStatistics(gym.make(args.env_id))
            for _ in range(args.num_envs)
        ]
    )
    assert isinstance(envs.single_action_space, gym.spaces.Discrete)
    torch.manual_seed(args.seed)
    assert ANSWER
    agent = Agent(envs, args.layers)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate)
    obs, _ = envs.reset(seed=args.seed)
    for step in range(0, args.total_timesteps, args.num_envs):
        logits = agent.network(torch.Tensor(obs))
        obs, reward, _, _, _ = envs.step(
            torch.distributions.Categorical(logits=logits).sample().numpy()
        )
        loss = (logits.mean(1) - torch.Tensor(reward)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        writer.add_scalar("losses/loss", loss.item(), step)
    envs.close()
    writer.close()
