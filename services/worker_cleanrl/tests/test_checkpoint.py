"""What a checkpoint holds, for scripts that have more than PPO and DQN have."""

import hashlib
from argparse import Namespace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.wrappers.normalize import NormalizeObservation, NormalizeReward

from mosaic_worker_cleanrl.launch.checkpoint import (
    collect_state,
    has_networks,
    load_state,
    save_state,
)


def test_a_state_survives_safe_loading(tmp_path: Path, make_spec: Any) -> None:
    """Networks, optimizers, learned tensors, counters and arguments come back by the names of their variables."""
    actor = torch.nn.Linear(2, 3)
    variables: dict[str, Any] = {
        "actor": actor,
        "policy": actor,
        "param": actor.weight,
        "log_alpha": torch.zeros(1, requires_grad=True),
        "loss": torch.zeros(1, requires_grad=True) * 2,
        "optimizer": torch.optim.Adam(actor.parameters()),
        "explained_var": np.float64(0.5),
        "epsilon": 0.1,
        "args": Namespace(gamma=0.99, target_kl=None, sizes=(np.int64(3), 4)),
        "_hidden": 3,
        "Linear": torch.nn.Linear,
        "torch": torch,
    }
    path = tmp_path / "state.pt"
    save_state(collect_state(make_spec(), 12, variables), path)
    state, digest = load_state(path)
    assert digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert list(state["networks"]) == ["actor"]
    assert torch.equal(state["networks"]["actor"]["weight"], actor.weight)
    assert list(state["optimizers"]) == ["optimizer"]
    assert list(state["tensors"]) == ["log_alpha"]
    assert state["counters"] == {"explained_var": 0.5, "epsilon": 0.1}
    assert state["arguments"] == {"gamma": 0.99, "target_kl": None, "sizes": [3, 4]}
    assert state["global_step"] == 12


def test_normalizer_statistics_are_kept(tmp_path: Path, make_spec: Any) -> None:
    """Statistics of normalizing wrappers are part of a checkpoint: without them a good policy plays badly."""

    def make() -> Any:
        env = gymnasium.make("CartPole-v1")
        return NormalizeReward(NormalizeObservation(env))

    envs = gymnasium.vector.SyncVectorEnv([make, make])
    envs.reset(seed=1)
    envs.step([0, 1])
    path = tmp_path / "state.pt"
    save_state(collect_state(make_spec(), 2, {"envs": envs}), path)
    normalizers = load_state(path).state["normalizers"]
    assert set(normalizers) == {
        f"envs.{index}.{name}" for index in (0, 1) for name in ("obs_rms", "return_rms")
    }
    layer: Any = envs.envs[1]
    while "obs_rms" not in vars(layer):
        layer = layer.env
    assert np.array_equal(normalizers["envs.1.obs_rms"]["mean"].numpy(), layer.obs_rms.mean)
    assert normalizers["envs.1.obs_rms"]["count"] == layer.obs_rms.count


def test_a_class_is_no_network() -> None:
    """Before the script has made a network there is nothing to save, though it has defined its class."""
    assert not has_networks({"Agent": torch.nn.Linear, "torch": torch})
    assert has_networks({"agent": torch.nn.Linear(1, 1)})


@pytest.mark.parametrize("free_kib", range(0, 64, 4))
def test_a_full_disk_is_an_oserror(small_disk: Path, make_spec: Any, free_kib: int) -> None:
    """Wherever in the file the disk gets full, the error is the disk's own, which says that there is no space."""
    (small_disk / "filler").write_bytes(bytes(2**20 - free_kib * 2**10))
    network = torch.nn.Linear(100, 200)
    state = collect_state(make_spec(), 1, {"network": network})
    with pytest.raises(OSError, match="No space left on device"):
        save_state(state, small_disk / "state.pt")
