"""What a run recorded, as tables: a metric, all metrics, episodes, the steps of one episode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mosaic_client.table import Table, number
from mosaic_contracts.runs import Curve, EpisodeRow, EventPage
from mosaic_contracts.wire import StepFlag

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_POINTS = 100_000
"""Maximum number of points of a metric in one answer."""
EVENT_PAGE = 10_000
_EPISODE_COLUMNS = {
    "attempt": "attempt",
    "env": "env",
    "episode": "episode",
    "return": "episode_return",
    "length": "length",
    "terminated": "terminated",
    "truncated": "truncated",
    "global_step": "global_step",
    "t_start": "t_start",
    "t_end": "t_end",
    "recorded_steps": "recorded_steps",
    "thinned_steps": "thinned_steps",
}


class Series(Table):
    """Points of one metric in the order in which they were written.

    Args:
        curve: points as the stack sends them.

    Attributes:
        name: name of the metric.
        left_out: number of older points that are not included.
    """

    def __init__(self, curve: Curve) -> None:
        columns: dict[str, Sequence[Any]] = {
            "step": curve.steps or [],
            "value": curve.values or [],
            "t": curve.t or [],
        }
        super().__init__(columns, curve.name)
        self.name = curve.name
        self.left_out = curve.points - len(self)
        if self.left_out:
            self.title += f" ({self.left_out} older points left out)"

    @property
    def steps(self) -> NDArray[Any]:
        """Environment step of each point, NaN where the worker gave none."""
        return self["step"]

    @property
    def values(self) -> NDArray[Any]:
        """Value of each point."""
        return self["value"]

    @property
    def times(self) -> NDArray[Any]:
        """Wall clock of each point, seconds since the epoch."""
        return self["t"]


class EpisodeSteps(Table):
    """Steps of one episode.

    Args:
        page: events of the episode as the stack sends them.

    Attributes:
        start: the reset, `{"reset": {...}, "observation": ...}` and more; empty where it was not recorded.
    """

    def __init__(self, page: EventPage) -> None:
        steps = [event for event in page.events if event["type"] == "step"]
        self.start: Mapping[str, Any] = next(
            (event for event in page.events if event["type"] == "episode_start"), {}
        )
        columns: dict[str, Sequence[Any]] = {
            "step": [event["step"] for event in steps],
            "action": [number(event["action"]) for event in steps],
            "reward": [number(event["reward"]) for event in steps],
            "terminated": [bool(event["flags"] & StepFlag.TERMINATED) for event in steps],
            "truncated": [bool(event["flags"] & StepFlag.TRUNCATED) for event in steps],
            "actor": [event["actor"] for event in steps],
            "t": [number(event["t"]) for event in steps],
        }
        if any(event.get("observation") is not None for event in steps):
            columns["observation"] = [number(event.get("observation")) for event in steps]
        super().__init__(columns, f"steps of episode {self.start.get('episode', '')}".rstrip())


def metric_table(events: Iterable[Mapping[str, Any]]) -> Table:
    """Collect points of all metrics.

    Args:
        events: metric events.

    Returns:
        A table with one row a point.
    """
    columns: dict[str, list[Any]] = {"name": [], "step": [], "value": [], "t": []}
    for event in events:
        for key, cells in columns.items():
            cells.append(event[key] if key == "name" else number(event[key]))
    return Table(columns, "metrics")


def episode_table(episodes: Sequence[EpisodeRow]) -> Table:
    """Collect episodes.

    Args:
        episodes: rows in the order in which the episodes began.

    Returns:
        A table with one row an episode; one that has not ended has no return and length.
    """
    columns = {
        name: [getattr(row, field) for row in episodes] for name, field in _EPISODE_COLUMNS.items()
    }
    return Table(columns, "episodes")
