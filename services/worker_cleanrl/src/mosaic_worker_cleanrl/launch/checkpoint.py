"""Everything a script has learned, by the names of its variables, in a form that loads with `weights_only=True`.

Loading never runs code: tensors, containers and plain values only.
"""

import hashlib
import io
import pickle
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch

from mosaic_contracts.spec import RunSpec
from mosaic_worker_cleanrl.errors import CheckpointRefused
from mosaic_worker_cleanrl.launch.flax_states import flax_states, network_of, optimizer_of
from mosaic_worker_cleanrl.launch.normalizers import normalizer_state
from mosaic_worker_cleanrl.packages import installed_packages
from mosaic_worker_cleanrl.saved import FORMAT, FORMAT_VERSION
from mosaic_workerkit.spaces import Space

_T = TypeVar("_T")


def has_networks(variables: Mapping[str, Any]) -> bool:
    """Say whether the script holds a network yet."""
    has_torch = any(isinstance(value, torch.nn.Module) for value in variables.values())
    return has_torch or any(True for _ in flax_states(variables))


def collect_state(
    spec: RunSpec,
    global_step: int,
    variables: Mapping[str, Any],
    *,
    wrappers: Sequence[str] = (),
    spaces: Mapping[str, Space] | None = None,
) -> dict[str, Any]:
    """Return the state of the script's networks, optimizers, tensors and counters.

    Networks that have two names are kept once, under the first.
    """
    networks = dict(_named(variables, torch.nn.Module))
    optimizers = dict(_named(variables, torch.optim.Optimizer))
    states = dict(flax_states(variables))
    inside = {id(tensor) for network in networks.values() for tensor in network.parameters()}
    tensors = {  # learned outside of networks, e.g. sac's log_alpha; not the loop variable over a network's own
        name: tensor.detach()
        for name, tensor in _named(variables, torch.Tensor)
        if tensor.requires_grad and tensor.is_leaf and id(tensor) not in inside
    }
    arguments = variables.get("args")
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "algorithm": spec.algorithm,
        "environment": spec.environment,
        "seed": spec.seed,
        "global_step": global_step,
        "networks": {name: network.state_dict() for name, network in networks.items()}
        | {name: network_of(state) for name, state in states.items()},
        "optimizers": {name: optimizer.state_dict() for name, optimizer in optimizers.items()}
        | {name: optimizer_of(state) for name, state in states.items()},
        "tensors": tensors,
        "counters": dict(_counters(variables)),
        "arguments": _plain(vars(arguments)) if hasattr(arguments, "__dict__") else {},
        "normalizers": normalizer_state(variables),
        "wrappers": list(wrappers),
        "spaces": None if spaces is None else dict(spaces),
        "packages": installed_packages(),
    }


def save_state(state: dict[str, Any], path: Path) -> None:
    """Write a state to a file.

    Raises:
        OSError: the disk refused.
    """
    # Serialized in memory first: torch turns a disk's OSError into a RuntimeError that no longer says what was wrong.
    buffer = io.BytesIO()
    torch.save(state, buffer)
    path.write_bytes(buffer.getbuffer())


class LoadedState(NamedTuple):
    """A state that was read from a file."""

    state: dict[str, Any]
    sha256: str
    """Digest of what was read: a training may have put a better checkpoint in the file's place since."""


def load_state(path: Path) -> LoadedState:
    """Read a state; no code in the file is run.

    Raises:
        CheckpointRefused: the file cannot be read, or holds more than tensors and plain values.
    """
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            file.seek(0)
            return LoadedState(torch.load(file, map_location="cpu", weights_only=True), digest)
    except (OSError, RuntimeError, ValueError, pickle.UnpicklingError) as error:
        raise CheckpointRefused(
            f"{path.name} was altered after it was written: torch cannot read it ({error}). Take another checkpoint."
        ) from error


def _named(variables: Mapping[str, Any], kind: type[_T]) -> Iterator[tuple[str, _T]]:
    """Variables that hold a `kind`, each object under its first name only."""
    seen: set[int] = set()
    for name, value in variables.items():
        if isinstance(value, kind) and not name.startswith("_") and id(value) not in seen:
            seen.add(id(value))
            yield name, value


def _counters(variables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in variables.items():
        if not name.startswith("_"):
            plain = _plain(value)
            if isinstance(plain, bool | int | float | str):
                yield name, plain


def _plain(value: Any) -> Any:
    """A numpy scalar would make `weights_only` refuse the file, and np.float64 even passes as a float."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        return value.item()
    return value
