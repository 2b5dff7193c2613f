"""The algorithms that this worker process offers: those of the installed package, or of a checkout of CleanRL."""

from mosaic_base.nearest import nearest_names
from mosaic_worker_cleanrl.script import ATARI_FRAMES, Script
from mosaic_worker_cleanrl.table import TABLE

__all__ = ["ATARI_FRAMES", "SCRIPTS", "Script", "algorithms_for", "nearest_algorithms", "offer"]

SCRIPTS = dict(TABLE)
"""By id. A process has one source of scripts; `offer` replaces them before anything is asked."""


def offer(scripts: dict[str, Script]) -> None:
    """Offer these scripts instead."""
    SCRIPTS.clear()
    SCRIPTS.update(scripts)


def algorithms_for(action_space: str, observation_space: str, form: str) -> list[str]:
    """Return the ids of the algorithms that can act in an environment of these kinds of spaces."""
    return [
        script.id
        for script in SCRIPTS.values()
        if script.can_act(action_space, observation_space, form) and not script.unavailable
    ]


def nearest_algorithms(algorithm: str) -> list[str]:
    """Return known ids close to `algorithm`, best first."""
    wanted = algorithm.lower()
    begun = [name for name in SCRIPTS if wanted and name.startswith(wanted)]
    close = nearest_names(wanted, SCRIPTS)
    return (begun + [name for name in close if name not in begun])[:3]
