"""Texts, histograms and images of a script of the user's own: from its calls into the store and out of the API."""

import json
from pathlib import Path

import pytest
from stack_under_test import VENVS, StackUnderTest

SCRIPT = """
import os
import matplotlib
matplotlib.use("Agg")
import gymnasium as gym
import numpy as np
import torch
import wandb
from matplotlib import pyplot
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Image
from torch.utils.tensorboard import SummaryWriter

torch.set_num_threads(1)
rng = np.random.default_rng(1)
noise = rng.integers(0, 255, (24, 32, 3), dtype=np.uint8)
run = wandb.init(mode="offline", dir=os.getcwd())
run.log({"actions": wandb.Histogram(rng.normal(size=500)), "picture": wandb.Image(noise, caption="noise")}, step=7)
run.finish()
figure = pyplot.figure(figsize=(2, 1), dpi=50)
pyplot.plot([1, 2, 3])


class Media(BaseCallback):
    def _on_rollout_end(self):
        self.logger.record("sb3/noise", Image(noise, "HWC"), exclude=("stdout", "log", "json", "csv"))

    def _on_step(self):
        return True


env = gym.make("CartPole-v1")
model = PPO("MlpPolicy", env, n_steps=64, batch_size=64, seed=3, device="cpu", tensorboard_log="board")
with SummaryWriter("mine") as writer:
    for step in range(3):
        for name, value in model.policy.named_parameters():
            writer.add_histogram("weights/" + name, value, step)
        writer.add_text("plan", f"step {step}", step)
        writer.add_image("frames", noise.transpose(2, 0, 1), step)
    writer.add_figure("figure", figure, 2)
    writer.add_image("large", rng.integers(0, 255, (3, 1600, 1600), dtype=np.uint8), 2)
model.learn(128, callback=Media())
"""


@pytest.mark.nightly
def test_media_of_a_script(stack: StackUnderTest, tmp_path: Path) -> None:
    """What TensorBoard, W&B and Stable-Baselines3 are given has its names, steps and values; images are PNG files."""
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    python = VENVS / "worker_cleanrl" / "bin" / "python"
    words = ("run", str(script), "--python", str(python), "--yes", "--json")
    made = stack.cli(*words, cwd=tmp_path, timeout_s=170)
    assert made.returncode == 0, made.stderr
    run_id = json.loads(made.stdout)["run_id"]
    stack.wait_stored(run_id, 20)
    with stack.client() as client:
        names = {(one.kind, one.name): (one.count, one.first_step) for one in client.media(run_id)}
        assert names["text", "plan"] == (3, 0)
        assert names["histogram", "actions"] == (1, 7)
        assert names["histogram", "weights/action_net.bias"] == (3, 0)
        assert names["image", "picture"] == (1, 7)
        assert names["image", "frames"] == (3, 0)
        assert names["image", "figure"] == (1, 2)
        assert ("image", "sb3/noise") in names
        assert ("image", "large") not in names
        plans = client.media_values(run_id, "text", "plan", most=2)
        assert [(one.step, one.text) for one in plans.values] == [(0, "step 0"), (2, "step 2")]
        (actions,) = client.media_values(run_id, "histogram", "actions").values
        assert sum(actions.counts or []) == 500
        (picture,) = client.media_values(run_id, "image", "picture").values
        assert (picture.width, picture.height, picture.caption) == (32, 24, "noise")
        assert picture.path is not None
        client.download(run_id, picture.path, tmp_path / "picture.png")
        assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert any("'large'" in note for note in stack.run(run_id).notes)
