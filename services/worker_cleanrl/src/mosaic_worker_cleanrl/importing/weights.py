"""Weights without the facts of a checkpoint: a `.cleanrl_model` of the scripts themselves, or safetensors.

Their tensors are named as in the state dict of the network that acts.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mosaic_worker_cleanrl.algorithm import SCRIPTS
from mosaic_worker_cleanrl.errors import CheckpointRefused
from mosaic_worker_cleanrl.saved import SavedTensor

CLEANRL_MODEL, SAFETENSORS = ".cleanrl_model", "safetensors"
_LENGTH_BYTES = 8
_MOST_HEADER_BYTES = 16 * 2**20
_SHOWN = 4


class BareWeights(NamedTuple):
    """What a file of weights says, without its tensors."""

    form: str
    """`.cleanrl_model` or `safetensors`."""
    shapes: Mapping[str, tuple[int, ...]]
    """Shape of each tensor by its name."""
    arguments: Mapping[str, Any]
    """Arguments of the training, where the file has them."""
    algorithm: str | None = None
    environment: str | None = None
    step: int | None = None

    @property
    def words(self) -> str:
        """What it holds, for messages."""
        names = [f"{name} {list(shape)}" for name, shape in self.shapes.items()]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return f"{', '.join(names[:_SHOWN])}{more}"


def weights_in(content: Any) -> BareWeights | None:
    """The weights in a PyTorch file that a script of CleanRL wrote; None: it is none.

    Args:
        content: of the file, with shapes in the place of tensors.
    """
    if not isinstance(content, Mapping):
        return None
    weights, arguments = content.get("model_weights", content), content.get("args", {})
    if not isinstance(weights, Mapping) or not weights:
        return None
    if not all(isinstance(k, str) and isinstance(v, SavedTensor) for k, v in weights.items()):
        return None
    given = {str(k): v for k, v in arguments.items()} if isinstance(arguments, Mapping) else {}
    name, environment = given.get("exp_name"), given.get("env_id")
    return BareWeights(
        CLEANRL_MODEL,
        dict(weights),
        given,
        algorithm=name if name in SCRIPTS else None,
        environment=environment if isinstance(environment, str) else None,
        step=_count(given.get("total_timesteps")),
    )


def read_safetensors(path: Path) -> BareWeights | None:
    """What a safetensors file says of its tensors; None: it is none.

    Raises:
        CheckpointRefused: it is truncated or altered.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
        if file.read(1) != b"{" or not 2 <= length <= _MOST_HEADER_BYTES:
            return None
        header = b"{" + file.read(length - 1)
        size = file.seek(0, os.SEEK_END)
    if len(header) < length:
        raise _truncated(path)
    try:
        entries = json.loads(header)
        shapes = {
            str(name): tuple(int(size) for size in entry["shape"])
            for name, entry in entries.items()
            if name != "__metadata__"
        }
        ends = [int(entry["data_offsets"][1]) for name, entry in entries.items() if name in shapes]
        facts = dict(entries.get("__metadata__") or {})
    except (
        *(ValueError, RecursionError, KeyError, IndexError),
        *(TypeError, AttributeError),
    ) as error:
        raise CheckpointRefused(
            f"{path.name} is a safetensors file whose header cannot be read ({type(error).__name__}): it was altered "
            "after it was written. Copy it again, or take another file."
        ) from error
    if size < _LENGTH_BYTES + length + max(ends, default=0):
        raise _truncated(path)
    return BareWeights(
        SAFETENSORS,
        shapes,
        {},
        algorithm=facts.get("algorithm"),
        environment=facts.get("environment"),
        step=_count(facts.get("step")),
    )


def _truncated(path: Path) -> CheckpointRefused:
    return CheckpointRefused(
        f"{path.name} is truncated: its end is missing. Copy it again, or take another file."
    )


def likely_algorithms(weights: BareWeights, name: str) -> list[str]:
    """Algorithms that the weights may be of, by the name of the file and by the names of the tensors.

    Args:
        weights: what the file says.
        name: of the file; the scripts name theirs after themselves.
    """
    stem = Path(name).stem
    if stem in SCRIPTS:
        return [stem]
    begins = {tensor.partition(".")[0] for tensor in weights.shapes}
    found = {
        frozenset({"network"}): ("dqn", "c51", "dqn_atari", "c51_atari"),
        frozenset({"critic", "actor"}): ("ppo", "ppo_atari"),
        frozenset({"critic", "actor_mean", "actor_logstd"}): ("ppo_continuous_action",),
    }
    for names, algorithms in found.items():
        if names <= begins:
            return list(algorithms)
    return ["sac_continuous_action"] if "fc_mean" in begins else []


def _count(value: Any) -> int | None:
    """A number of steps; safetensors write every value as text."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 19:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
