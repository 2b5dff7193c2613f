"""What a play counts. Never imports torch."""

from typing import NamedTuple

from mosaic_gymkit.run import EnvironmentRun


class EpisodeOutcome(NamedTuple):
    """What came of one whole episode."""

    seed: int
    episode_return: float
    length: int


class DecisionCount(EnvironmentRun):
    """Counts what the policy decides, as the training did: of a game four frames are one step."""

    def step_begins(self) -> None:
        """Count nothing: a frame of a game is no decision."""

    def decided(self) -> None:
        """Count one decision."""
        super().step_begins()
