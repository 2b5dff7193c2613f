"""One picture of a result."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mosaic_contracts.comparisons import (
    TOO_FEW,
    ActorsResult,
    Estimate,
    LearningCurve,
    TrainingResult,
)

# Okabe and Ito 2008: distinct with any colour vision, and in print.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.labelsize": 8,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "svg.hashsalt": "mosaic",
}
_DARK_STYLE: Any = {
    "figure.facecolor": "#161B22",
    "axes.facecolor": "#161B22",
    "axes.edgecolor": "#6E7681",
    "axes.labelcolor": "#E6EDF3",
    "text.color": "#E6EDF3",
    "xtick.color": "#C9D1D9",
    "ytick.color": "#C9D1D9",
    "grid.color": "#6E7681",
}
"""A dark ground, on which the colours of the actors have enough contrast, too."""
_INK, _DARK_INK = "#222222", "#E6EDF3"
_FAULT, _DARK_FAULT = "#B00000", "#FF8A80"
_PIXELS_PER_INCH = 200
_BELOW = 0.2
"""Distance of the single returns from the interval above them."""
_COLUMNS = 3
"""Most curves' panels in a row."""


def draw(
    result: ActorsResult | TrainingResult, target: Path, form: str, *, dark: bool = False
) -> None:
    """Write the picture of a result.

    Args:
        result: what is drawn.
        target: file to write.
        form: `svg`, `png` or another format of matplotlib.
        dark: whether it has a dark ground.
    """
    with mpl.rc_context(_STYLE | (_DARK_STYLE if dark else {})):
        figure = _actors(result) if isinstance(result, ActorsResult) else _trainings(result)
        metadata: dict[str, Any] = {"Date": None} if form == "svg" else {}
        figure.savefig(target, format=form, dpi=_PIXELS_PER_INCH, metadata=metadata)


def _actors(result: ActorsResult) -> Figure:
    count, pairs = len(result.actors), len(result.pairs)
    figure = Figure(figsize=(10, 1.6 + 0.32 * max(count, pairs)), layout="constrained")
    returns, differences, chances = figure.subplots(1, 3, width_ratios=(1.2, 1, 0.8))
    for row, (actor, given) in enumerate(zip(result.actors, result.document.actors, strict=True)):
        color = _COLORS[row % len(_COLORS)]
        places = [row + _BELOW] * len(given.returns)
        returns.scatter(given.returns, places, s=10, color=color, alpha=0.4, linewidths=0)
        _interval(returns, row, actor.iqm, color)
    _rows(returns, [actor.name for actor in result.actors])
    returns.set(title=result.environment, xlabel="return: each episode, and IQM with its interval")
    for row, pair in enumerate(result.pairs):
        color = "#888888" if pair.higher is None else _ink()
        _interval(differences, row, pair.mean_difference, color)
        _interval(chances, row, pair.improvement, color)
    differences.axvline(0, color="#888888", linewidth=1)
    _rows(differences, [f"{pair.first}\n- {pair.second}" for pair in result.pairs])
    paired = all(pair.seeds for pair in result.pairs)
    differences.set(xlabel=f"difference of the mean returns{', paired by seed' if paired else ''}")
    chances.axvline(0.5, color="#888888", linewidth=1)
    _rows(chances, [""] * pairs)
    chances.set(xlim=(-0.03, 1.03), xlabel="probability of improvement")
    _say_notes(figure, result.notes)
    return figure


def _trainings(result: TrainingResult) -> Figure:
    environments = list(dict.fromkeys(curve.environment for curve in result.curves))
    names = list(dict.fromkeys(curve.name for curve in result.curves))
    columns = min(_COLUMNS, len(environments))
    rows = -(-len(environments) // columns)
    figure = Figure(figsize=(0.6 + 4.2 * columns, 0.8 + 3 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).flat
    for axes, environment in zip(grid, environments, strict=False):
        for curve in result.curves:
            if curve.environment == environment:
                _curve(axes, curve, _COLORS[names.index(curve.name) % len(_COLORS)])
        axes.set(title=environment, xlabel="environment steps", ylabel="return (IQM over runs)")
        axes.legend(frameon=False)
    for axes in list(grid)[len(environments) :]:
        axes.set_visible(False)
    _say_notes(figure, result.notes)
    return figure


def _curve(axes: Axes, curve: LearningCurve, color: str) -> None:
    axes.plot(curve.steps, curve.values, color=color, label=curve.name, linewidth=1.5)
    if None not in curve.lows and None not in curve.highs:
        ends: Any = curve.lows, curve.highs
        axes.fill_between(curve.steps, *ends, color=color, alpha=0.2, linewidth=0)


def _is_dark() -> bool:
    return bool(mpl.rcParams["text.color"] == _DARK_INK)


def _ink() -> str:
    return _DARK_INK if _is_dark() else _INK


def _interval(axes: Axes, row: int, found: Estimate, color: str) -> None:
    if found.value is None:
        return
    if found.low is not None and found.high is not None:
        axes.hlines(row, found.low, found.high, color=color, linewidth=2.5)
    axes.plot([found.value], [row], "o", color=color, markersize=6, markeredgecolor="white")


def _rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")


def _say_notes(figure: Figure, notes: Sequence[str]) -> None:
    """Too few seeds and the like are in the picture too, for it travels without its table."""
    few = [note for note in notes if note.startswith(TOO_FEW)]
    if few:
        figure.supxlabel("\n".join(few), fontsize=7, color=_DARK_FAULT if _is_dark() else _FAULT)
