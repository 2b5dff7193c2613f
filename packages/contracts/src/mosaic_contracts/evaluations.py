"""Evaluations: a policy acts in seeded episodes and learns nothing, and its returns are summarised."""

import math
import statistics
from collections.abc import Sequence

from mosaic_contracts.models import PeerModel

EVALUATION_RESULT = "evaluation.result"
"""Type of the event with an `EvaluationResult`, which a run of kind `evaluate` records after its last episode."""


class EvaluationResult(PeerModel):
    """Returns of the episodes of one evaluation."""

    checkpoint: str
    """The evaluated file, as the run's parameters name it; empty: none, as for random actions."""
    checkpoint_sha256: str | None = None
    """SHA-256 of that file; None: there is none, or an older worker evaluated it."""
    algorithm: str
    environment: str
    trained_steps: int | None = None
    """Environment steps of the training when the checkpoint was saved."""
    greedy: bool | None
    """True: every action was the policy's most likely or best one. False: actions were sampled as in the training.
    None: something else decided, e.g. an agent's plans, or chance."""
    normalized: bool = False
    """Whether observations were normalised with the statistics of the training."""
    asked: int | None = None
    """Number of episodes that were asked for; None: as many as the run's steps permit."""
    seeds: list[int]
    """Seed of each complete episode, in order; empty where one generator served all episodes, as in older results of
    agents."""
    returns: list[float]
    """Return of each complete episode: the sum of the environment's own rewards, neither clipped nor scaled."""
    lengths: list[int]
    """Environment steps of each complete episode, as they were recorded."""

    mean: float | None
    """Mean return; None without a complete episode."""
    standard_error: float | None
    """Standard error of the mean return; None with fewer than two episodes."""

    def metrics(self) -> list[tuple[str, float]]:
        """Return names and values of the metrics that an evaluation records."""
        greedy = None if self.greedy is None else float(self.greedy)
        values = {
            "mean_return": self.mean,
            "standard_error": self.standard_error,
            "greedy": greedy,
        }
        return [
            (f"evaluation/{name}", value) for name, value in values.items() if value is not None
        ]


def mean_and_error(returns: Sequence[float]) -> tuple[float | None, float | None]:
    """Summarise returns.

    Args:
        returns: return of each episode.

    Returns:
        The mean, and its standard error; None where there are too few.
    """
    count = len(returns)
    mean = statistics.fmean(returns) if returns else None
    return mean, statistics.stdev(returns) / math.sqrt(count) if count > 1 else None
