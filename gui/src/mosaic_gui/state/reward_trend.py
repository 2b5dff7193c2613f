"""The returns of a run as a few points, for a small line on a card."""

from dataclasses import dataclass

from mosaic_contracts.curve_set import EPISODE_RETURN, CurveSet, DrawnCurve

POINTS = 40


@dataclass(frozen=True)
class RewardTrend:
    """Mean returns of a run over its steps."""

    steps: tuple[float, ...] = ()
    values: tuple[float, ...] = ()


def trend_of(found: CurveSet) -> RewardTrend:
    """The trend in the curve of episode returns; empty where the run has none.

    Raises:
        ValueError: the curve cannot be read.
    """
    curve = next((one for one in found.curves if one.name == EPISODE_RETURN), None)
    return RewardTrend() if curve is None else _few_points(curve)


def _few_points(curve: DrawnCurve) -> RewardTrend:
    # numpy, which the window opens without
    import numpy as np

    from mosaic_gui.state.downsampling import columns_of

    columns = columns_of(curve)
    names = ("step0", "mean") if curve.reduced else ("step", "value")
    steps, values = (columns[name] for name in names)
    steps = np.where(np.isfinite(steps), steps, np.arange(len(steps), dtype=np.float64))
    kept = np.isfinite(values)
    steps, values = steps[kept], values[kept]
    if not len(values):
        return RewardTrend()
    count = min(POINTS, len(values))
    begins = np.arange(count) * len(values) // count
    sizes = np.diff(np.append(begins, len(values)))
    means = (np.add.reduceat(column, begins) / sizes for column in (steps, values))
    return RewardTrend(*(tuple(column.tolist()) for column in means))
