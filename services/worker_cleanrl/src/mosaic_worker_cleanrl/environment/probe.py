"""What one environment is, learned by making it once; or why it cannot be made here."""

import re
import warnings
from dataclasses import dataclass
from typing import Any

import gymnasium

from mosaic_base.nearest import nearest_names
from mosaic_contracts.grid import Grid
from mosaic_contracts.terminal import strip_controls
from mosaic_gymkit.families import is_atari
from mosaic_gymkit.grids import grid_of
from mosaic_worker_cleanrl.environment import atari
from mosaic_worker_cleanrl.environment.extras import (
    extra_of,
    find_environment,
    is_offered,
    known_environments,
)
from mosaic_worker_cleanrl.environment.wrapping import wrappers_for
from mosaic_worker_cleanrl.errors import ExtraMissing
from mosaic_workerkit.errors import EnvironmentUnusable

_KINDS = {
    "Discrete": "discrete",
    "Box": "box",
    "MultiDiscrete": "multi_discrete",
    "MultiBinary": "multi_binary",
    "Dict": "dict",
    "Tuple": "tuple",
}


@dataclass(frozen=True)
class EnvironmentProbe:
    """What one environment turned out to be when it was made once."""

    id: str
    action_space: gymnasium.Space[Any]
    observation_space: gymnasium.Space[Any]
    max_steps: int | None
    render_modes: tuple[str, ...]
    grid: Grid | None
    """The grid on which its states lie; None: they lie on none that is known."""
    notes: tuple[str, ...]
    """What gymnasium warned of, e.g. that the version is out of date."""

    @property
    def action_kind(self) -> str:
        """Kind of the action space in the words of the contracts."""
        return space_kind(self.action_space)

    @property
    def observation_kind(self) -> str:
        """Kind of the observation space in the words of the contracts."""
        return space_kind(self.observation_space)

    @property
    def form(self) -> str:
        """What an observation is when it reaches the script: `vector` (a discrete or composite one has been made one
        by then), `atari` (a game's coloured frame), or `picture`: all others."""
        space = self.observation_space
        shape = space.shape or ()
        if wrappers_for(space) or (isinstance(space, gymnasium.spaces.Box) and len(shape) == 1):
            return "vector"
        is_frame = len(shape) == 3 and shape[2:] == atari.COLOURS
        return "atari" if is_frame and is_atari(known_environments()[self.id]) else "picture"


def space_kind(space: gymnasium.Space[Any]) -> str:
    """Return the kind of a space in the words of the contracts."""
    names = (kind.__name__ for kind in type(space).__mro__)
    return next((_KINDS[name] for name in names if name in _KINDS), "other")


def probe_environment(name: str) -> EnvironmentProbe:
    """Make the environment once and close it again.

    Random streams of a script are not touched: the script seeds them after this, and an environment has its own.

    Raises:
        EnvironmentUnusable: unknown, of a version that is gone, or its packages are missing.
        ExtraMissing: its packages are in a bundle that is not installed.
    """
    known = find_environment(name)
    if known is None:
        raise _unregistered(name)
    extra = extra_of(known)
    if extra is not None and not extra.is_installed:
        raise ExtraMissing(name, extra.title, extra.install_command)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            env = gymnasium.make(name)
    except (gymnasium.error.Error, ImportError) as error:
        raise _unmade(name, error) from error
    try:
        spec = env.spec
        return EnvironmentProbe(
            name,
            env.action_space,
            env.observation_space,
            spec.max_episode_steps if spec is not None else None,
            tuple(env.metadata.get("render_modes", ())),
            grid_of(env),
            # of the environment's version only; libraries have warnings of their own, which are not for this person
            tuple(_plain(w.message) for w in caught if "out of date" in str(w.message)),
        )
    finally:
        env.close()  # type: ignore[no-untyped-call] # gymnasium does not annotate it


def _unregistered(name: str) -> EnvironmentUnusable:
    """Explain a name that gymnasium does not have, by those that this worker can make."""
    if ":" in name:  # gymnasium would import what stands before it
        module, _, rest = name.partition(":")
        return EnvironmentUnusable(
            f"{name} asks for environments of the package {module}, which is no part of this worker. {_LISTED}",
            [rest] if rest in known_environments() else [],
        )
    versions = _versions(name)
    number = _VERSION.search(name)
    if versions and number is None:
        return EnvironmentUnusable(
            f"{name} names no version. Say which one, e.g. {versions[0]}.", versions
        )
    if versions and number is not None:
        was = int(number[1]) < int(versions[0].rpartition("-v")[2])
        why = "is gone" if was else "does not exist"
        return EnvironmentUnusable(f"Version {name} {why}. Take {versions[0]}.", versions)
    if (game := atari.game_of(name)) is not None:
        close = [atari.plain_name(game)]
        return EnvironmentUnusable(f"There is no environment {name!r}. Take {close[0]}.", close)
    close = nearest_names(name, _usable(), any_case=True)
    hint = f"Did you mean {close[0]}?" if close else _LISTED
    return EnvironmentUnusable(f"There is no environment {name!r} here. {hint}", close)


def _unmade(name: str, error: Exception) -> EnvironmentUnusable:
    """Explain what is registered but cannot be made; another version of it may."""
    others = [other for other in _versions(name) if other != name]
    hint = f"Take {others[0]}." if others else _LISTED
    return EnvironmentUnusable(f"{name} cannot be made here ({_plain(error)}). {hint}", others)


def _usable() -> list[str]:
    return [name for name, spec in known_environments().items() if is_offered(spec)]


def _versions(name: str) -> list[str]:
    """Usable environments of the same name, newest first."""
    base = _VERSION.sub("", name)
    found = [other for other in _usable() if _VERSION.sub("", other) == base]
    return sorted(found, key=lambda other: int(other.rpartition("-v")[2]), reverse=True)


_LISTED = "`./mosaic describe cleanrl` lists what there is."
_VERSION = re.compile(r"-v(\d+)$")


def _plain(error: Warning | BaseException | str) -> str:
    text, _, _hint = strip_controls(str(error)).replace("WARN: ", "").partition("(HINT")
    return text.replace("`", "").strip()
