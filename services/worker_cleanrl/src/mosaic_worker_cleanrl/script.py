"""What this worker knows of a script of CleanRL beyond what the script itself says."""

import importlib.util
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from mosaic_worker_cleanrl.errors import ScriptMissing
from mosaic_worker_cleanrl.imports import imported_packages, packages_at_start
from mosaic_worker_cleanrl.obstacles import why_unavailable
from mosaic_worker_cleanrl.schema.document import unreadable_arguments

ATARI_FRAMES = 4
"""Frames of an Atari game for each decision, set by the scripts' own wrapper."""


_JAX = "jax"
"""The package, and the bundle that brings it."""
VECTORS = ("box", "discrete", "multi_discrete", "multi_binary", "tuple", "dict")
"""Kinds of observation spaces of a script that takes vectors."""


@lru_cache(maxsize=128)
def _installed_script(module: str) -> Path:
    """File of a script of the installed package, which `describe` asks for a thousand times.

    Raises:
        ScriptMissing: the package is not installed.
    """
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        found = None
    if found is None or found.origin is None:
        raise ScriptMissing(module)
    return Path(found.origin)


@dataclass(frozen=True, kw_only=True)
class Script:
    """One script of CleanRL."""

    id: str
    module: str
    title: str
    summary: str
    path: Path | None = None
    """Its file in a checkout; None: it is one of the installed package."""
    action_spaces: tuple[str, ...]
    observation_spaces: tuple[str, ...] = VECTORS
    """A discrete one reaches the script one-hot, a composite one flat."""
    takes: str = "vector"
    """Form of observation: `vector`, also what is made one on its way to the script, or `atari`, a game's frames."""
    kept_bytes: int | None = None
    """Bytes of one observation in its replay buffer, where the script changes the environment's observation."""
    keeps_next: bool = True
    """Whether its replay buffer keeps the next observation with each one."""
    whole_games: bool = False
    """Whether a minibatch is made of whole environments: their number must be a multiple of the minibatches."""
    page: str | None = None
    """Documentation that it shares with another one; None: its own."""
    note: str = ""
    """What this worker does so that the script runs; reported with every run."""
    without_extra: str | None = None
    """Environment to begin with where the packages of the script's own default are not installed."""
    policy: str = "agent"
    """Variable of the script that holds the network which acts."""
    policy_class: str = "Agent"
    """Class of that network."""
    normalizes: bool = False
    """Whether the script normalises observations by running statistics, without which its policy acts badly."""
    acts: bool = True
    """Whether its checkpoints can act in plays and evaluations."""
    instead: str | None = None
    """Where this one cannot run here: the script that is nearest to it and can."""
    batch: tuple[str, ...] = ()
    """Arguments whose product is a batch: the script trains whole batches only, and with fewer steps nothing."""

    def source(self) -> Path:
        """Return the script's file, without importing it.

        Raises:
            ScriptMissing: the package is not installed.
        """
        if self.path is not None:
            return self.path
        return _installed_script(self.module)

    @property
    def frames_per_step(self) -> int:
        """Steps of the environment that one decision lasts."""
        return ATARI_FRAMES if self.takes == "atari" else 1

    def can_act(self, action_space: str, observation_space: str, form: str) -> bool:
        """Say whether the script takes an environment of these kinds of spaces and this form of observation."""
        return (
            form == self.takes
            and action_space in self.action_spaces
            and observation_space in self.observation_spaces
        )

    def imports(self, package: str) -> bool:
        """Say whether the script imports `package`, e.g. the `gym` that came before gymnasium."""
        return package in imported_packages(self.source())

    @property
    def unavailable(self) -> str:
        """Why it cannot run in this worker, on any machine, and what to do instead; empty: it can."""
        path = self.source()
        why = why_unavailable(path, packages_at_start(path), self.instead)
        return why if why or self.path is None else unreadable_arguments(path)

    @property
    def has_parameters(self) -> bool:
        """Whether its arguments can be read; those of an installed script always can be."""
        return self.path is None or not unreadable_arguments(self.path)

    @property
    def bundle(self) -> str | None:
        """Name of the bundle that the script itself needs, whatever its environment; None: none."""
        needs_jax = _JAX in packages_at_start(self.source())
        return _JAX if needs_jax and not self.unavailable else None
