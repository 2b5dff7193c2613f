"""Environments of the installed gymnasium: what there is, and whether one can be made here. Never imports torch."""

import difflib
import re
import warnings
from dataclasses import dataclass
from typing import Any

import gymnasium

from mosaic_contracts.worker import Environment
from mosaic_worker_cleanrl.errors import EnvironmentUnusable

_FAMILY = "gymnasium.envs.classic_control"
"""The family that the base environment of this worker can make."""

_KINDS = {
    "Discrete": "discrete",
    "Box": "box",
    "MultiDiscrete": "multi_discrete",
    "MultiBinary": "multi_binary",
    "Dict": "dict",
}


@dataclass(frozen=True)
class Probe:
    """What one environment turned out to be when it was made once."""

    id: str
    action_space: gymnasium.Space[Any]
    observation_space: gymnasium.Space[Any]
    max_steps: int | None
    render_modes: tuple[str, ...]
    notes: tuple[str, ...]
    """What gymnasium warned of, e.g. that the version is out of date."""


def space_kind(space: gymnasium.Space[Any]) -> str:
    """Return the kind of a space in the words of the contracts."""
    return _KINDS.get(type(space).__name__, "other")


def list_environments() -> list[Environment]:
    """Return the environments offered by name, in the registry's order."""
    offered = []
    for name, spec in gymnasium.registry.items():
        if str(spec.entry_point).startswith(_FAMILY):
            probe = probe_environment(name)
            offered.append(
                Environment(
                    id=name,
                    title=name,
                    action_space=space_kind(probe.action_space),
                    observation_space=space_kind(probe.observation_space),
                    max_steps=probe.max_steps,
                    render="rgb_array" in probe.render_modes,
                )
            )
    return offered


def probe_environment(name: str) -> Probe:
    """Make the environment once and close it again.

    Random streams of a script are not touched: the script seeds them after this, and an environment has its own.

    Raises:
        EnvironmentUnusable: unknown, of a version that is gone, or its packages are missing.
    """
    if name not in gymnasium.registry:
        _explain_unregistered(name)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            env = gymnasium.make(name)
    except (gymnasium.error.Error, ImportError) as error:
        raise EnvironmentUnusable(f"{name} cannot be made here: {_plain(error)}", []) from error
    try:
        spec = env.spec
        return Probe(
            name,
            env.action_space,
            env.observation_space,
            spec.max_episode_steps if spec is not None else None,
            tuple(env.metadata.get("render_modes", ())),
            tuple(_plain(warning.message) for warning in caught),
        )
    finally:
        env.close()  # type: ignore[no-untyped-call] # gymnasium does not annotate it


def _explain_unregistered(name: str) -> None:
    """Raise with gymnasium's own reason: it knows removed versions and what replaces them."""
    nearest = difflib.get_close_matches(name, gymnasium.registry, n=3, cutoff=0.6)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the same reason once more, as a warning
            gymnasium.make(name)
    except (gymnasium.error.Error, ImportError) as error:
        raise EnvironmentUnusable(_plain(error), nearest) from error
    raise EnvironmentUnusable(
        f"{name} names no version. Say which one, e.g. {nearest[0]}.", nearest
    )


_COLOUR = re.compile(r"\x1b\[[0-9;]*m|WARN: ")


def _plain(error: BaseException | str) -> str:
    return _COLOUR.sub("", str(error)).replace("`", "").strip()
