"""Versions of the packages that decide results."""

from mosaic_workerkit.worker import package_versions


def installed_packages() -> dict[str, str]:
    """Name and version of each, read from metadata: nothing is imported."""
    return package_versions("gymnasium", "numpy", "agentspeak", "spade", "spade_bdi")
