"""Warm start: a training begins with what a checkpoint of its own script has learned.

It takes over networks, optimizers, learned tensors and normaliser statistics. Counters, schedules, replay buffer and
random states begin new, and the run's own arguments hold, its learning rate too. So it is no resumption.
"""

from collections.abc import Mapping, MutableMapping
from typing import Any

import torch

from mosaic_worker_cleanrl.errors import CheckpointRefused
from mosaic_worker_cleanrl.launch.flax_states import flax_states, with_saved
from mosaic_worker_cleanrl.launch.normalizers import restore_normalizers

NOT_TAKEN = ("counters", "schedules", "replay buffer", "random states", "arguments")
_ALPHA = ("log_alpha", "alpha")
"""The learned tensor of SAC, and the variable that holds its exponential."""


def begin_with(state: Mapping[str, Any], variables: MutableMapping[str, Any]) -> dict[str, Any]:
    """Give the variables of a script what a checkpoint holds, once the script has made its networks.

    Args:
        state: the loaded checkpoint.
        variables: of the script.

    Returns:
        What was taken over and what was not, for the record.

    Raises:
        CheckpointRefused: it does not fit the script's networks.
    """
    states = dict(flax_states(variables))
    for name in states.keys() & state["networks"].keys():
        saved = state["networks"][name] | state["optimizers"].get(name, {})
        variables[name] = with_saved(name, states[name], saved)
    for name, saved in state["networks"].items():
        if name in states:
            continue
        _load(name, variables.get(name), saved)
    for name, saved in state["optimizers"].items():
        if isinstance(optimizer := variables.get(name), torch.optim.Optimizer):
            _load_optimizer(optimizer, saved)
    for name, saved in state["tensors"].items():
        if isinstance(tensor := variables.get(name), torch.Tensor):
            with torch.no_grad():
                tensor.copy_(saved)
    log_alpha, alpha = _ALPHA
    if log_alpha in state["tensors"] and log_alpha in variables:
        variables[alpha] = variables[log_alpha].exp().item()
    return {
        "steps": state["global_step"],
        "networks": sorted(state["networks"]),
        "optimizers": sorted(state["optimizers"]),
        "tensors": sorted(state["tensors"]),
        "normalizers": restore_normalizers(state["normalizers"], variables),
        "not_taken": list(NOT_TAKEN),
    }


def _load(name: str, network: Any, saved: Mapping[str, Any]) -> None:
    if not isinstance(network, torch.nn.Module):
        raise CheckpointRefused(f"The checkpoint holds a network {name}, which the script has not.")
    try:
        network.load_state_dict(saved)
    except RuntimeError as error:
        lines = " ".join(str(error).split())
        raise CheckpointRefused(
            f"The checkpoint's network {name} does not fit: {lines[:500]}"
        ) from error


def _load_optimizer(optimizer: torch.optim.Optimizer, saved: Mapping[str, Any]) -> None:
    """Take over its moments, and keep the run's own learning rate and the like."""
    own = [
        {key: value for key, value in group.items() if key != "params"}
        for group in optimizer.param_groups
    ]
    optimizer.load_state_dict(dict(saved))
    for group, values in zip(optimizer.param_groups, own, strict=True):
        group.update(values)
