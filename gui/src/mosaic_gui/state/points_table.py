"""Every point of a chart with the facts of its run, for a file."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mosaic_contracts.runs import RunView

Point = tuple[float, float, float]
"""Step, seconds since the epoch, value."""


@dataclass(frozen=True)
class RunPoints:
    """One run and its points."""

    run_id: str
    name: str
    worker: str = ""
    algorithm: str = ""
    environment: str = ""
    seed: int | str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    points: Sequence[Point] = ()


@dataclass(frozen=True)
class PointsTable:
    """All runs of a chart."""

    runs: Sequence[RunPoints]

    @property
    def parameters(self) -> list[str]:
        """Names of all parameters that some run was given, in the order of the alphabet."""
        return sorted({name for run in self.runs for name in run.parameters})


def run_points(run_id: str, name: str, run: RunView | None, points: Sequence[Point]) -> RunPoints:
    """The points of a run; without its facts where the run is not known."""
    if run is None:
        return RunPoints(run_id, name, points=points)
    spec = run.spec
    parameters = {key: value for key, value in spec.parameters.items() if key != "seed"}
    seed = spec.seed if spec.seed is not None else ""
    return RunPoints(
        run_id, name, spec.worker, spec.algorithm, spec.environment, seed, parameters, points
    )
