"""Figures of metrics in many runs at once, for the columns of a run list."""

from typing import Annotated

from pydantic import Field, StringConstraints

from mosaic_contracts.id_fields import RunIdField
from mosaic_contracts.models import PeerModel, UserModel

MAX_METRICS, MAX_RUNS = 32, 1000
MetricWord = Annotated[str, StringConstraints(min_length=1, max_length=300)]


class MetricFigureQuery(UserModel):
    """Body of `POST /metrics/figures`."""

    names: Annotated[list[MetricWord], Field(min_length=1, max_length=MAX_METRICS)]
    """Names of metrics, whole or the part behind the last `/`."""
    run_ids: Annotated[list[RunIdField], Field(max_length=MAX_RUNS)]
    """Runs to look at."""
    only_last: bool = False
    """Whether the newest values are enough, which is faster; the other figures are null then."""


class MetricFigure(PeerModel):
    """Figures of one metric in one run. NaN and infinities can be the newest value only."""

    last: float
    """Newest value."""
    min: float | None = None
    max: float | None = None
    mean: float | None = None
    """Mean of all points."""


class MetricColumn(PeerModel):
    """One metric in all runs that have it."""

    asked: str
    """The name as it was asked for."""
    names: list[str]
    """Whole names that it means: one; several where it is not clear; none where no run has such a metric."""
    figures: dict[str, MetricFigure] = Field(default_factory=dict)
    """By run id; empty unless there is one name."""


class MetricColumns(PeerModel):
    """Answer to a MetricFigureQuery."""

    columns: list[MetricColumn]
    """In the order of the names that were asked for."""


class MetricNames(PeerModel):
    """Names of the metrics that the newest runs have, in alphabetical order."""

    names: list[str]
