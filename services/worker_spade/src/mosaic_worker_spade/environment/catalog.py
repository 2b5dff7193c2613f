"""Which worlds are offered by name, and making the one that a spec asks for."""

import re
from dataclasses import dataclass
from typing import Any

import gymnasium

from mosaic_base.nearest import nearest_names
from mosaic_contracts.worker import Environment
from mosaic_worker_spade.environment.lake_map import NAMED, read_map
from mosaic_worker_spade.environment.world import TableWorld, make_world
from mosaic_workerkit.errors import EnvironmentUnusable

OFFERED = ("FrozenLake", "FrozenLake8x8", "CliffWalking", "CliffWalkingSlippery", "Taxi")
DEFAULT = "FrozenLake-v1"
DEFAULT_MAX_STEPS = 200
"""Where the registry has no limit (CliffWalking): without one a first episode might never end."""
_OTHER_NAMES = {"Taxi-v3": "Taxi"}
"""Versions that people know and gymnasium took back; resolved to what the registry holds."""
_VERSION = re.compile(r"-v(\d+)$")


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What a user may set for a world, in addition to its name. None: as it is registered."""

    map: str | None = None
    slippery: bool | None = None
    max_steps: int | None = None


def list_environments() -> list[Environment]:
    """The worlds that are offered by name, each made once."""
    names = [*(_registered(base) for base in OFFERED), *_other_names()]
    return [_describe(name) for name in names if name]


def _describe(name: str) -> Environment:
    world = find_world(name, Wish())
    made = "" if world.id == name else f" (made as {world.id})"
    return Environment(
        id=name,
        title=f"{name}{made}",
        action_space="discrete",
        observation_space="discrete",
        max_steps=world.max_steps,
        render=True,
        grid=world.grid,
    )


def resolve(name: str) -> str:
    """The registered id that a name means.

    Raises:
        EnvironmentUnusable: there is none.
    """
    if name in gymnasium.registry:
        return name
    base = _OTHER_NAMES.get(name)
    found = _registered(base) if base else None
    if found:
        return found
    known = [e for e in (_registered(base) for base in OFFERED) if e]
    nearest = nearest_names(name, known)
    hint = f"Did you mean {nearest[0]}?" if nearest else f"Known: {', '.join(known)}."
    raise EnvironmentUnusable(f"There is no environment {name!r} here. {hint}", nearest)


def find_world(name: str, wish: Wish) -> TableWorld:
    """Make the world of a name.

    Raises:
        EnvironmentUnusable: unknown, or not to be learned here.
        MapInvalid: its map is none.
    """
    registered = resolve(name)
    arguments: dict[str, Any] = {}
    is_lake = registered.startswith("FrozenLake")
    if wish.map is not None:
        if not is_lake:
            raise EnvironmentUnusable(f"{registered} has one map only; `map` is for FrozenLake.")
        named = wish.map in NAMED
        arguments |= {"map_name": wish.map} if named else {"desc": read_map(wish.map)}
    if wish.slippery is not None:
        if not (is_lake or registered.startswith("CliffWalking")):
            raise EnvironmentUnusable(f"{registered} is never slippery; leave `slippery` out.")
        arguments["is_slippery"] = wish.slippery
    limit = wish.max_steps or gymnasium.registry[registered].max_episode_steps
    return make_world(registered, arguments, limit or DEFAULT_MAX_STEPS)


def _registered(base: str) -> str | None:
    """The newest version of a name in the registry."""
    found = [n for n in gymnasium.registry if _VERSION.sub("", n) == base and _VERSION.search(n)]
    return max(found, key=lambda n: int(n.rpartition("-v")[2]), default=None)


def _other_names() -> list[str]:
    return [name for name in _OTHER_NAMES if name not in gymnasium.registry]
