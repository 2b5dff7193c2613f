"""Episodes and steps of environments that a script constructs itself, without `make`."""

from __future__ import annotations

import weakref
from typing import Any

from mosaic_hook.listeners.environments import HeardEnvironment, made_by_make, next_number
from mosaic_hook.reporter import Reporter

_direct: dict[int, HeardEnvironment] = {}
"""By the identity of the environment."""


def listen_to_classes(reporter: Reporter, module: Any) -> None:
    """Hear the environments of each class that is derived from the module's `Env` from now on.

    Those of the library itself are left out: `make` makes them, and each level more would cost time. Wrappers are left
    out, too: of a wrapped environment the innermost counts. An episode that a wrapper ends is cut at the next reset.

    Args:
        module: `gymnasium.core` or `gym.core`.
    """
    base, wrapper = module.Env, module.Wrapper
    library = module.__name__.partition(".")[0]
    if not reporter.settings.has_episodes:
        return
    original = base.__dict__.get("__init_subclass__")

    def defined(cls: Any, /, **kwargs: Any) -> None:
        if original is None:
            super(base, cls).__init_subclass__(**kwargs)
        else:
            original.__func__(cls, **kwargs)
        is_own = cls.__module__.partition(".")[0] not in ("gymnasium", "gym")
        if is_own and not issubclass(cls, wrapper):
            for name, replace in (("step", _counted_step), ("reset", _counted_reset)):
                if name in cls.__dict__:
                    setattr(cls, name, replace(reporter, cls.__dict__[name], library))

    base.__init_subclass__ = classmethod(defined)


def _counted_step(reporter: Reporter, step: Any, library: str) -> Any:
    def counted(self: Any, action: Any, *args: Any, **kwargs: Any) -> Any:
        counter = _direct.get(id(self))
        if counter is None or counter.is_within:
            return step(self, action, *args, **kwargs)
        counter.is_within = True
        try:
            result = step(self, action, *args, **kwargs)
        finally:
            counter.is_within = False
        try:
            counter.step(action, result)
        except Exception as error:  # noqa: BLE001 - a script must not fail because it is listened to
            reporter.fail(library, error)
        return result

    return _named_as(step, counted)


def _counted_reset(reporter: Reporter, reset: Any, library: str) -> Any:
    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        counter = None if reporter.is_silent else _counter(reporter, self, library)
        if counter is None or counter.is_within:
            return reset(self, *args, **kwargs)
        counter.is_within = True
        try:
            try:
                counter.cut()
                counter.before_reset(self, kwargs.get("seed"), kwargs.get("options"))
            except Exception as error:  # noqa: BLE001 - as above
                reporter.fail(library, error)
            result = reset(self, *args, **kwargs)
        finally:
            counter.is_within = False
        try:
            counter.after_reset(result)
        except Exception as error:  # noqa: BLE001 - as above
            reporter.fail(library, error)
        return result

    return _named_as(reset, counted)


def _counter(reporter: Reporter, env: Any, library: str) -> HeardEnvironment | None:
    """Return what counts an environment, from its first reset on; None: it lies in one that `make` made."""
    counter = _direct.get(id(env))
    if counter is not None or id(env) in made_by_make:
        return counter
    try:
        reporter.heard(library)
        counter = HeardEnvironment(reporter, env, next_number(reporter.settings.spool))
        weakref.finalize(env, _direct.pop, id(env), None)
    except Exception as error:  # noqa: BLE001 - as above
        reporter.fail(library, error)
        return None
    _direct[id(env)] = counter
    return counter


def _named_as(original: Any, function: Any) -> Any:
    function.__name__ = original.__name__
    function.__qualname__, function.__doc__ = original.__qualname__, original.__doc__
    function.__module__, function.__wrapped__ = original.__module__, original
    return function
