"""Errors of the judge."""


class ManifestUnusable(ValueError):
    """There is no worker to judge at this path."""
