"""What is wrong with a comparison that somebody asked for. Messages say what to do next."""

from mosaic_client.errors import ClientError


class ComparisonRefused(ClientError):
    """It cannot be made as it was asked for."""


class NothingToCompare(ClientError):
    """What was named is not there: a checkpoint, or trainings with a tag."""


class NoReturns(ClientError):
    """Fewer than two actors have returns."""
