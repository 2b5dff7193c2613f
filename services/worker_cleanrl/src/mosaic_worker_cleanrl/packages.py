"""Versions of the packages that decide results."""

from importlib.metadata import PackageNotFoundError, version

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
    versions = {}
    for name in DECISIVE:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions
