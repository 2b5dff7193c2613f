"""Versions of the packages that decide results."""

from functools import cache

from mosaic_workerkit.worker import package_versions

DECISIVE = (
    "cleanrl",
    "torch",
    "gymnasium",
    "numpy",
    "stable-baselines3",
    "ale-py",
    "Box2D",
    "mujoco",
)


def installed_packages() -> dict[str, str]:
    """Return name and version of each that is installed; read from metadata, nothing is imported."""
    return dict(_versions())


@cache
def _versions() -> dict[str, str]:
    """Read once: it takes 5 ms, and every checkpoint has them."""
    return package_versions(*DECISIVE)
