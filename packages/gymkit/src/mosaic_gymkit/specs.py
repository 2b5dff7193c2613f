"""Which environment a run used, and how to make it again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import gymnasium

from mosaic_base.nearest import nearest_names
from mosaic_gymkit.families import find_registered
from mosaic_workerkit.errors import EnvironmentUnusable

_VERSION_HINT = "`./mosaic describe WORKER` lists the environments of a worker."


@dataclass(frozen=True)
class EnvironmentSpec:
    """What `gymnasium.make` was given.

    Attributes:
        id: id in Gymnasium's registry, or `module:Id`, whose module is imported first.
        arguments: keyword arguments in addition to the registered ones.
        max_steps: steps after which an episode is truncated; None: as registered.
    """

    id: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    max_steps: int | None = None

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "EnvironmentSpec":
        """Read the spec from the data of a recorded `config` event.

        Args:
            config: the event's data: `environment`, and optionally `environment_arguments` and `max_episode_steps`.

        Returns:
            The spec.

        Raises:
            EnvironmentUnusable: the config names no environment.
        """
        name, arguments = config.get("environment"), config.get("environment_arguments") or {}
        max_steps = config.get("max_episode_steps")
        if not isinstance(name, str) or not isinstance(arguments, Mapping):
            raise EnvironmentUnusable("The recorded config names no environment.")
        return cls(name, dict(arguments), max_steps if isinstance(max_steps, int) else None)

    def make(self, *, is_checked: bool = True) -> gymnasium.Env[Any, Any]:
        """Make the environment, with Gymnasium's own wrappers and no others.

        Args:
            is_checked: whether Gymnasium's checker looks at the first step; it changes no value.

        Returns:
            A new environment without a render mode; `mosaic_gymkit.drawing` draws it all the same.

        Raises:
            EnvironmentUnusable: it is unknown here, or cannot be made.
        """
        given = dict(self.arguments)
        if self.max_steps is not None:
            given["max_episode_steps"] = self.max_steps
        module, _, name = self.id.rpartition(":")
        try:
            if module:
                import_module(module)
            find_registered(name)
            if not is_checked:
                given["disable_env_checker"] = True
            return gymnasium.make(name, **given)
        except gymnasium.error.UnregisteredEnv as error:
            close = nearest_names(name, list(gymnasium.registry), any_case=True)
            hint = f"Did you mean {close[0]}?" if close else _VERSION_HINT
            raise EnvironmentUnusable(
                f"There is no environment {name!r} here. {hint}", close
            ) from error
        except (gymnasium.error.Error, ImportError, TypeError, ValueError, OSError) as error:
            text = str(error).replace("`", "").strip()
            raise EnvironmentUnusable(f"{self.id} cannot be made here: {text}") from error
