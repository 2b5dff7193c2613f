"""The arguments with which an environment can be made, read from its registration and its constructor."""

import inspect
import math
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import gymnasium
from gymnasium.envs.registration import EnvSpec, load_env_creator

from mosaic_contracts.worker import EnvironmentOption
from mosaic_gymkit.families import ATARI
from mosaic_gymkit.play.timing import CONSOLE_FPS

_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}
_NOT_OFFERED = frozenset({"render_mode", "game", "obs_type", "sound_obs", "verbose", "xml_file"})
"""Arguments that the worker sets, and those that change nothing that a person sees."""
_OBSERVED = ("_in_observation", "_from_observation")
"""How arguments end that change the observation alone."""


class EntryPoint:
    """What makes an environment. Where its packages are not installed, only its registration is known.

    Args:
        spec: the environment in Gymnasium's registry.
    """

    def __init__(self, spec: EnvSpec) -> None:
        self._spec = spec
        self._creator = _load(str(spec.entry_point))

    def options(self) -> list[EnvironmentOption]:
        """Return the arguments whose values are plain: on or off, a number, a text, or one of several."""
        return [option for option in self._each() if option is not None]

    def rate(self) -> float | None:
        """Return the steps per second at which it is meant to be seen; None: it does not say so."""
        if str(self._spec.entry_point).startswith(ATARI):
            skipped = self._spec.kwargs.get("frameskip", 1)
            return CONSOLE_FPS / skipped if isinstance(skipped, int) else None
        rate = (getattr(self._creator, "metadata", None) or {}).get("render_fps")
        return float(rate) if isinstance(rate, int | float) and rate > 0 else None

    def _each(self) -> Iterator[EnvironmentOption | None]:
        parameters = _parameters(self._creator)
        given = self._spec.kwargs
        for name, (default, annotation) in parameters.items():
            yield _option(name, given.get(name, default), annotation, self._choices(name))
        for name in given.keys() - parameters.keys():
            yield _option(name, given[name], type(given[name]), ())

    def _choices(self, name: str) -> tuple[str, ...]:
        """Names of the maps of FrozenLake, which its module lists."""
        module = sys.modules.get(str(self._spec.entry_point).partition(":")[0])
        maps = getattr(module, "MAPS", None) if name == "map_name" else None
        return tuple(maps) if isinstance(maps, dict) else ()


@cache
def _load(entry_point: str) -> Any:
    """The class or function; None: its packages are not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Box2D's module dies of a warning that is an error
            return load_env_creator(entry_point)
    except (gymnasium.error.Error, ImportError, AttributeError):
        return None


@cache
def _parameters(creator: Any) -> dict[str, tuple[Any, Any]]:
    """Default and annotation of each parameter of a constructor."""
    if creator is None:
        return {}
    made_by = creator.__init__ if inspect.isclass(creator) else creator
    try:
        hints = get_type_hints(made_by)
        parameters = inspect.signature(creator).parameters.values()
    except (NameError, TypeError, ValueError):
        return {}  # annotations that name what is not there, or a constructor without a signature
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {
        each.name: (each.default, hints.get(each.name))
        for each in parameters
        if each.kind in plain and each.default is not inspect.Parameter.empty
    }


def _option(
    name: str, default: Any, annotation: Any, choices: tuple[Any, ...]
) -> EnvironmentOption | None:
    """An option of a form; None: its value is not plain, or it is not offered."""
    if (
        name in _NOT_OFFERED
        or name.endswith(_OBSERVED)
        or not isinstance(default, bool | int | float | str | None)
    ):
        return None
    if isinstance(default, float) and not math.isfinite(default):
        return None
    parts = _alternatives(annotation)
    if default is None and not any(part in _TYPES for part in parts):
        return None
    if any(get_origin(part) is Literal for part in parts):
        choices = tuple(value for part in parts for value in get_args(part))
    kind = next((part for part in parts if part in _TYPES), type(default))
    if isinstance(default, bool):
        kind = bool
    elif isinstance(default, int | float) and annotation is not int:
        kind = float if annotation in (None, float) else kind
    return EnvironmentOption.model_validate(
        {"name": name, "type": _TYPES.get(kind, "string"), "default": default, "choices": choices}
    )


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    """The types that an annotation allows, without None."""
    if get_origin(annotation) in (Union, UnionType):
        return tuple(part for part in get_args(annotation) if part is not NoneType)
    return () if annotation is None else (annotation,)
