"""Whether the network of a checkpoint fits its environment: both are made once."""

import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import gymnasium
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from mosaic_worker_cleanrl.acting.policy import build_policy, load_module
from mosaic_worker_cleanrl.acting.rebuilt import script_environment
from mosaic_worker_cleanrl.algorithm import Script
from mosaic_worker_cleanrl.environment.wrapping import wrapped
from mosaic_worker_cleanrl.errors import CheckpointRefused
from mosaic_worker_cleanrl.importing.weights import SAFETENSORS, BareWeights
from mosaic_worker_cleanrl.launch.checkpoint import load_state
from mosaic_worker_cleanrl.oldgym import OLD_GYM_PATH


def load_weights(path: Path, weights: BareWeights) -> dict[str, torch.Tensor]:
    """Read the tensors; no code in the file is run.

    Raises:
        CheckpointRefused: they cannot be read.
    """
    if weights.form != SAFETENSORS:
        state = load_state(path).state
        return dict(state.get("model_weights", state))
    try:
        return dict(load_file(path))
    except SafetensorError as error:
        raise CheckpointRefused(
            f"{path.name} was altered after it was written, or is truncated: {error}. Copy it again, or take another "
            "file."
        ) from error


def fitting_network(script: Script, environment: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """Load the network that acts into the script's own class, and return its state dict.

    Args:
        script: whose network it is.
        environment: id.
        state: a checkpoint.

    Raises:
        CheckpointRefused: it does not fit.
    """
    with ExitStack() as stack:
        if script.imports("gym"):
            sys.path.insert(0, str(OLD_GYM_PATH))
            stack.callback(sys.path.remove, str(OLD_GYM_PATH))
        torch.set_num_threads(1)
        module = load_module(script.module)
        make = script_environment(
            module,
            environment,
            int(state["seed"]),
            state["arguments"],
            lambda name: wrapped(gymnasium.make(name)),
        )
        stack.callback(make.close)
        policy: Any = build_policy(script, module, make, state, sampled=True)
    network = getattr(policy, "agent", None) or getattr(policy, "network", None) or policy.actor
    return dict(network.state_dict())
