"""What the gateway and the worker of a sweep send each other, over a Unix socket in the sweep's folder (ADR 0025).

The worker chooses trials and writes the study. The gateway has the store and the scheduler: it sends what is new of the
trials' runs, and submits and stops runs as the worker orders. Each exchange can be repeated.
"""

from typing import Any

from pydantic import Field

from mosaic_contracts.models import PeerModel

SWEEP_SOCKET = "control/sweep.sock"
"""Unix socket in the folder of a sweep, on which its worker answers HTTP."""
EXCHANGE_PATH = "/exchange"
"""Takes a `SweepNews` by POST and answers with `SweepOrders`."""
STOP_PATH = "/stop"
"""Takes a `SweepStop` by POST and answers with `SweepOrders`."""


class CurvePoints(PeerModel):
    """New points of one metric of one run."""

    metric: str
    steps: list[int]
    values: list[float]

    model_config = {**PeerModel.model_config, "ser_json_inf_nan": "constants"}


class TrialRunNews(PeerModel):
    """What is known of one run of a trial."""

    key: str
    run_id: str | None = None
    """None: the scheduler refused it."""
    state: str
    """RunState of the run; `failed` where it was refused, `cancelled` where it was deleted."""
    message: str = ""
    """Why it ended or was refused."""
    steps: int = 0
    """Environment steps so far."""
    points: list[CurvePoints] = Field(default_factory=list)
    """Points of the objectives' metrics from `after` to `cursor`."""
    after: str = ""
    """The `FollowedRun.cursor` after which the points begin; the worker leaves out those that begin elsewhere."""
    cursor: str = ""
    is_complete: bool = False
    """Whether the run has ended and the store has all of its points up to `cursor`."""
    metrics: list[str] = Field(default_factory=list)
    """Names of the run's metrics, where `is_complete`; they are shown where an objective's metric is missing."""


class SweepNews(PeerModel):
    """What the gateway sends at each exchange."""

    runs: list[TrialRunNews] = Field(default_factory=list)
    """The runs that the last orders start or follow. Those that are missing here are to be ordered again."""
    waits: str = ""
    """Why runs cannot be submitted now, in words for the user, e.g. for lack of disk space; empty: they can."""


class TrialRunOrder(PeerModel):
    """A run to submit. Each answer repeats it until the news name its run, so that nothing is lost if either side is
    killed; the key makes a second submit return the first run."""

    key: str
    """Unique in the sweep."""
    spec: dict[str, Any]
    """Complete spec, with `parent`. The scheduler takes `environment`, `seed`, `parameters` and `name` from it, and
    all else from the `run` of the sweep's own spec."""


class FollowedRun(PeerModel):
    """A run whose state and points the worker wants."""

    key: str
    run_id: str
    cursor: str = ""
    """How far the worker has its points."""


class SweepOrders(PeerModel):
    """What a sweep's worker wants done."""

    start: list[TrialRunOrder] = Field(default_factory=list)
    follow: list[FollowedRun] = Field(default_factory=list)
    stop: list[str] = Field(default_factory=list)
    """Ids of runs to stop: their trial was pruned, failed or is stopped."""
    is_over: bool = False
    """Whether nothing is left to do."""
