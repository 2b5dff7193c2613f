"""Files of other programs: which program wrote one, and what it says of itself. Nothing in them is run."""

import json
import re
import zipfile
from collections.abc import Mapping
from typing import Any

SB3_MARK = "_stable_baselines3_version"
_MOST_BYTES = 2**20
"""Largest part of an archive that is read for a description."""
_CLASS = re.compile(r"'(?:[\w]+\.)*(\w+)'")
_NOBODY = "No worker here plays it: that takes a worker for {program} (docs/worker_author.md says how to write one)."


def describe_stable_baselines(archive: zipfile.ZipFile) -> str:
    """What a model of stable-baselines3 says of itself."""
    version = _text(archive, SB3_MARK).strip()[:20]
    facts = _object(_text(archive, "data"))
    details = [
        f"{word} space {name}"
        for word, key in (("observation", "observation_space"), ("action", "action_space"))
        if (name := _class_name(facts.get(key)))
    ]
    steps = facts.get("num_timesteps")
    if isinstance(steps, int):
        details.append(f"after {steps:,} steps")
    more = f" ({', '.join(details)})" if details else ""
    return f"a model of stable-baselines3 {version}{more}. {_NOBODY.format(program='stable-baselines3')}"


def describe_d3rlpy(state: Any) -> str | None:
    """What a learnable of d3rlpy says of itself; None: it is none."""
    if not isinstance(state, Mapping) or not {"torch", "config", "version"} <= set(state):
        return None
    facts = _object(state["config"])
    kind = facts.get("config")
    algorithm = kind.get("type") if isinstance(kind, dict) else None
    shape, actions = facts.get("observation_shape"), facts.get("action_size")
    return (
        f"a model of d3rlpy {str(state['version'])[:20]} (algorithm {str(algorithm)[:40]}, observation shape "
        f"{str(shape)[:80]}, action size {str(actions)[:20]}). {_NOBODY.format(program='d3rlpy')}"
    )


def describe_cleanrl_model(state: Any, shape: type[tuple[int, ...]]) -> str | None:
    """What a `.cleanrl_model` holds, the file that the scripts write themselves; None: it is none.

    Args:
        state: the content of the file.
        shape: class that replaces a tensor in it.
    """
    weights = state.get("model_weights", state) if isinstance(state, Mapping) else None
    if not isinstance(weights, Mapping) or not weights:
        return None
    if not all(isinstance(name, str) and isinstance(each, shape) for name, each in weights.items()):
        return None
    layers = [each for name, each in weights.items() if name.endswith("weight")]
    if not layers or len(layers[0]) < 2 or len(layers[-1]) != 2:
        return None
    network = "QNetwork" if any(name.startswith("network.") for name in weights) else "network"
    return (
        f"a .cleanrl_model: the weights of one {network} with {layers[0][1]} inputs and {layers[-1][0]} outputs, "
        "without the name of its script and its environment. `./mosaic checkpoints import FILE -a ALGORITHM -e "
        "ENVIRONMENT` makes a checkpoint of it."
    )


def _text(archive: zipfile.ZipFile, name: str) -> str:
    try:
        with archive.open(name) as member:
            return member.read(_MOST_BYTES).decode(errors="replace")
    except (KeyError, zipfile.BadZipFile, RuntimeError, NotImplementedError):
        return ""


def _object(text: Any) -> dict[str, Any]:
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _class_name(value: Any) -> str:
    found = _CLASS.search(str(value.get(":type:", ""))) if isinstance(value, dict) else None
    return found[1] if found else ""
