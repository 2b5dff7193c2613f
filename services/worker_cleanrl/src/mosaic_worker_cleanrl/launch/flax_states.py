"""Networks and optimizers of scripts for JAX: the `TrainState` of Flax, as tensors and back.

Nothing of JAX is imported here before the script has done so.
"""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from mosaic_worker_cleanrl.errors import CheckpointRefused

_MODULE = "flax.training.train_state"
_OPTIMIZER = "opt_state"
_SEPARATOR = "/"


def flax_states(variables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Return the variables of a script that hold a `TrainState`; none while it has not imported Flax."""
    module = sys.modules.get(_MODULE)
    if module is not None:
        for name, value in variables.items():
            if isinstance(value, module.TrainState) and not name.startswith("_"):
                yield name, value


def network_of(state: Any) -> dict[str, torch.Tensor]:
    """Return the arrays of a state but those of its optimizer, by their path: `params/params/Dense_0/kernel`."""
    return {key: value for key, value in _tensors(state) if not _is_optimizers(key)}


def optimizer_of(state: Any) -> dict[str, torch.Tensor]:
    """Return the arrays of a state's optimizer by their path."""
    return {key: value for key, value in _tensors(state) if _is_optimizers(key)}


def with_saved(name: str, state: Any, saved: Mapping[str, Any]) -> Any:
    """Return a state with the arrays of a checkpoint in it. Its `step` stays: counters begin new.

    Args:
        name: of the variable, for the message.
        state: as the script made it.
        saved: arrays by their path.

    Raises:
        CheckpointRefused: they are not those of such a state.
    """
    from flax import serialization, traverse_util

    flat = _flat(state)
    own = {_SEPARATOR.join(key): key for key in flat}
    wrong = [
        path
        for path, tensor in saved.items()
        if path not in own or tuple(np.shape(flat[own[path]])) != tuple(tensor.shape)
    ]
    if wrong or not saved:
        raise CheckpointRefused(
            f"The checkpoint's network {name} does not fit: {', '.join(wrong[:5]) or 'it is empty'}"
        )
    for path, tensor in saved.items():
        if path != "step":
            flat[own[path]] = tensor.numpy()
    return serialization.from_state_dict(state, traverse_util.unflatten_dict(flat))


def _is_optimizers(path: str) -> bool:
    return path.partition(_SEPARATOR)[0] in (_OPTIMIZER, "step")


def _flat(state: Any) -> dict[tuple[str, ...], Any]:
    from flax import serialization, traverse_util

    flat: dict[tuple[str, ...], Any] = traverse_util.flatten_dict(
        serialization.to_state_dict(state), keep_empty_nodes=True
    )
    return flat


def _tensors(state: Any) -> Iterator[tuple[str, torch.Tensor]]:
    from flax import traverse_util

    for key, value in _flat(state).items():
        if value is not traverse_util.empty_node and value is not None:
            yield _SEPARATOR.join(key), torch.from_numpy(np.array(value))
