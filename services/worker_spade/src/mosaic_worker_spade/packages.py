"""Versions of the packages that decide results."""

from importlib.metadata import version

DECISIVE = ("gymnasium", "numpy", "agentspeak", "spade", "spade_bdi")


def installed_packages() -> dict[str, str]:
    """Name and version of each, read from metadata: nothing is imported."""
    return {name: version(name) for name in DECISIVE}
