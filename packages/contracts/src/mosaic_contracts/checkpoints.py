"""Checkpoints of all runs: what is known of each file, by which names a run's own are called."""

import re
from typing import Any

from pydantic import Field

from mosaic_contracts.checkpoint_words import CheckpointMark, CheckpointState
from mosaic_contracts.models import PeerModel

_VERSION = re.compile(r"-v(\d+)$")


class CheckpointEvaluation(PeerModel):
    """The newest evaluation of exactly this file."""

    run_id: str
    mean: float | None
    standard_error: float | None = None
    episodes: int
    greedy: bool | None = None
    t: float
    """Wall clock of its result, seconds since the epoch."""


class CheckpointRow(PeerModel):
    """One checkpoint of one run. None: the run's events do not say it."""

    run_id: str
    run_name: str
    kind: str
    """Kind of its run, e.g. `train` or `import`."""
    worker: str
    algorithm: str
    environment: str
    environment_version: int | None = None
    """Version in the environment's id: 1 of `CartPole-v1`."""
    path: str
    """Path in the run's folder."""
    sha256: str | None = None
    bytes: int
    step: int | None = None
    """Environment steps of the run when it was saved."""
    reason: str | None = None
    """`periodic`, `best`, `stop`, `final` or `imported`."""
    t: float | None = None
    """Wall clock at which it was announced, seconds since the epoch."""
    mean_return_20: float | None = None
    """Mean return of the last 20 episodes before it."""
    mean_return_episodes: int | None = None
    """Number of episodes in that mean: fewer than 20 where there were fewer."""
    evaluation: CheckpointEvaluation | None = None
    normalizer: bool | None = None
    """Whether it has the statistics by which observations are normalised."""
    spaces: dict[str, dict[str, Any]] | None = None
    """Spaces of the environment, `observation` and `action`."""
    packages: dict[str, str] = Field(default_factory=dict)
    """Versions of packages that affected the training."""
    image: str | None = None
    """Digest of the worker's image; None: the run used processes, or nothing says it."""
    worker_lock: str | None = None
    """Digest of the worker's lock of dependencies; None: nothing says it."""
    worker_version: str | None = None
    marks: list[CheckpointMark] = Field(default_factory=list)
    state: CheckpointState = CheckpointState.PRESENT

    @property
    def value(self) -> float | None:
        """Return by which checkpoints are compared: the mean of the last 20 episodes, else that of its evaluation."""
        if self.mean_return_20 is not None:
            return self.mean_return_20
        return None if self.evaluation is None else self.evaluation.mean


class CheckpointPage(PeerModel):
    """One page of checkpoints."""

    checkpoints: list[CheckpointRow]
    next_cursor: str | None = None


def environment_version(environment: str) -> int | None:
    """Read the version in an environment's id.

    Args:
        environment: id, e.g. `CartPole-v1`.

    Returns:
        The version, e.g. 1; None where the id has none.
    """
    found = _VERSION.search(environment)
    return None if found is None else int(found[1])
