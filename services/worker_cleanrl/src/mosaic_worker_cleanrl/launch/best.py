"""When a training is better than it ever was, so that its best policy is kept next to its last one."""

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from mosaic_contracts.checkpoint_words import MEAN_RETURN, RECENT_EPISODES
from mosaic_worker_cleanrl.plan.length import DEFAULT_CHECKPOINTS
from mosaic_workerkit.artifacts import read_manifest

BEST_PATH = Path("checkpoints") / "best.pt"
MOST_SAVES = 50
"""Times that the best checkpoint is written in a run, at most: a share of its steps lies between two."""


_PATIENCE = MOST_SAVES // DEFAULT_CHECKPOINTS


class BestReturn:
    """Compares the mean return of the last episodes with the highest one that was saved.

    It looks at steps and returns alone, so that two equal trainings save at equal steps.

    Args:
        run_dir: folder of the run. A second attempt goes on from what the first one saved.
        total_steps: steps of the training.
    """

    def __init__(self, run_dir: Path, total_steps: int) -> None:
        self._every = max(1, total_steps // MOST_SAVES)
        self._saved = max(_saved_means(run_dir), default=-math.inf)
        self._not_before = 0
        self._offered = -math.inf

    def is_beaten(self, returns: Sequence[float]) -> bool:
        """Say whether the last episodes were better than those before the best checkpoint.

        A few lucky episodes are no training: there must be as many as the mean is of.
        """
        if len(returns) < RECENT_EPISODES:
            return False
        self._offered = fmean(returns)
        return self._offered > self._saved  # a NaN is no better

    def is_due(self, step: int, returns: Sequence[float]) -> bool:
        """Say whether to save now: the last save was long enough ago, too."""
        return step >= self._not_before and self.is_beaten(returns)

    def saved(self, step: int) -> None:
        """Take note that the policy of the last `is_beaten` was saved."""
        self._saved = self._offered
        self._not_before = step + self._every

    def failed(self, step: int) -> None:
        """Take note that it could not be written. The next try waits as long as a periodic checkpoint does."""
        self._not_before = step + _PATIENCE * self._every


def _saved_means(run_dir: Path) -> list[float]:
    path = BEST_PATH.as_posix()
    return [
        float(entry[MEAN_RETURN])
        for entry in read_manifest(run_dir)
        if entry["path"] == path and MEAN_RETURN in entry
    ]
