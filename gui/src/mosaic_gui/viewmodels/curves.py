"""The curves of one run, with others laid over it: which ones, against what, how smooth, each seed or their mean."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_gui.state.axis import XAxis
from mosaic_gui.state.decimation import NO_LINE, Line, line, visible
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.state.seed_groups import Band, mean_band, seed_groups
from mosaic_gui.state.smoothing import MOST
from mosaic_gui.state.store import Followed, Store

MOST_OVERLAID = 31
"""Beyond its eight colours a chart tells lines by their dashes."""
FIRST_CHARTS = 4
BUCKETS_A_PLACE = 2
"""A mean has a place for so many buckets: it is smooth, and a wide line's cost grows with its points."""
_LIKELY = ("return", "length", "loss", "q_value", "sps", "entropy")
"""Words in the names of what most people look at first."""


@dataclass(frozen=True)
class Drawn:
    """One run's curve in one chart."""

    run_id: str
    label: str
    colour: int
    """Index of a series colour."""
    raw: Line
    smooth: Line | None
    last: float | None
    band: Band | None = None
    """Around the mean of a group, which is then what `smooth` is."""
    is_faint: bool = False
    """One of a group: it lies beneath the mean."""


@dataclass(frozen=True)
class Stretch:
    """Part of a curve between two steps that is to be read in so many buckets."""

    run_id: str
    name: str
    from_step: int
    to_step: int
    buckets: int


class Reading(NamedTuple):
    """What a curve has at a place."""

    label: str
    colour: int
    x: float
    value: float
    spread: float | None = None
    """Standard deviation over a group."""


class CurveModel(QObject):
    """What charts draw; emits what became different."""

    charts_changed = pyqtSignal()
    """Other charts are shown, or they are drawn in another way."""
    curves_grown = pyqtSignal()
    names_changed = pyqtSignal()
    finer_wanted = pyqtSignal(object)
    """A Stretch of which there are too few points for what the user sees."""

    def __init__(self, store: Store, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.run_id = ""
        self.overlaid: list[str] = []
        self.charts: list[str] = []
        self._chosen_by_user = False
        self.axis = XAxis.STEP
        self.smoothing = 0.9
        self.log_scale = False
        self.saved_in = ""
        """Folder into which a chart was saved last."""
        self.following = True
        self.grouping = True
        """Runs that differ in their seed alone are drawn as one."""
        self._names: list[str] = []
        self._means: dict[tuple[str, tuple[str, ...]], Band] = {}
        """Of each chart's groups, as they were drawn last: what the crosshair reads."""

    def show_runs(self, run_id: str, overlaid: Sequence[str]) -> None:
        """Draw a run, with others laid over it."""
        self.run_id = run_id
        self.overlaid = [other for other in overlaid if other != run_id][:MOST_OVERLAID]
        self.charts, self._chosen_by_user, self._names = [], False, []
        self._means.clear()
        self.following = True

    @property
    def names(self) -> list[str]:
        """All curves of the run and of those laid over it."""
        return self._names

    @property
    def is_loading(self) -> bool:
        """History is still being read and there is nothing to draw yet."""
        followed = self._store.followed.get(self.run_id)
        return followed is not None and not followed.curves.series and not followed.ended

    def set_axis(self, axis: XAxis) -> None:
        """Another axis from left to right."""
        self.axis = axis
        self.charts_changed.emit()

    def set_smoothing(self, factor: float) -> None:
        """0: none; up to 0.999."""
        self.smoothing = min(max(factor, 0.0), MOST)
        self.charts_changed.emit()

    def set_log_scale(self, on: bool) -> None:
        """Values on a logarithmic scale."""
        self.log_scale = on
        self.charts_changed.emit()

    def set_grouping(self, on: bool) -> None:
        """Seeds as one curve with a band, or each for itself."""
        self.grouping = on
        self.charts_changed.emit()

    @property
    def has_seeds(self) -> bool:
        """Some of the runs differ in their seed alone."""
        ids = [self.run_id, *self.overlaid]
        return len(seed_groups(ids, self._store.runs)) < len(ids)

    @property
    def is_sample(self) -> bool:
        """Of some run not every episode was recorded: what is counted in episodes counts recorded ones."""
        known = (self._store.runs.get(run_id) for run_id in (self.run_id, *self.overlaid))
        return any(run.summary.is_sample for run in known if run and run.summary)

    @property
    def groups(self) -> list[list[str]]:
        """The runs as they are drawn: those of a group share a colour."""
        ids = [self.run_id, *self.overlaid]
        return seed_groups(ids, self._store.runs) if self.grouping else [[i] for i in ids]

    def set_following(self, on: bool) -> None:
        """Keep the newest points in sight."""
        if on is not self.following:
            self.following = on
            self.charts_changed.emit()

    def set_chart(self, name: str, shown: bool) -> None:
        """The user wants a curve, or does not."""
        self._chosen_by_user = True
        wanted = [n for n in self.charts if n != name] + ([name] if shown else [])
        self.charts = [n for n in self._names if n in wanted]
        self.charts_changed.emit()

    def extent(self, name: str) -> tuple[float, float] | None:
        """First and last place on the axis over all runs in a chart; None without points."""
        ends = [x for _, followed in self._followed() if len(x := self._x(followed, name))]
        if not ends:
            return None
        return float(min(x[0] for x in ends)), float(max(x[-1] for x in ends))

    def drawn(self, name: str, low: float, high: float, buckets: int) -> list[Drawn]:
        """The curves of a chart between two places on its axis, thinned to what its width can show."""
        found = []
        for colour, group in enumerate(self.groups):
            lines = [self._drawn(i, name, colour, low, high, buckets) for i in group]
            members = [one for one in lines if one is not None]
            if len(group) == 1 or not members:
                found += members
                continue
            found += [replace(one, smooth=None, is_faint=True, last=None) for one in members]
            if (mean := self._mean(group, name, low, high, buckets)) is not None:
                found.append(replace(mean, colour=colour, label=self.group_label(group)))
        return found

    def table(self, name: str) -> list[tuple[str, float, float, float]]:
        """Every point of a chart: run, step, seconds since the epoch, value. For export."""
        rows = []
        for run_id, followed in self._followed():
            series = followed.curves.series.get(name)
            if series is not None:
                columns = (series.steps.tolist(), series.t.tolist(), series.values.tolist())
                rows += [(self.label(run_id), *row) for row in zip(*columns, strict=True)]
        return rows

    def label(self, run_id: str) -> str:
        """A run's name in a legend: what tells it from the others, by its id where nothing else does."""
        title = self._title(run_id)
        others = [one for one in (self.run_id, *self.overlaid) if one != run_id]
        is_shared = any(self._title(one) == title for one in others)
        return f"{title} · …{run_id[-4:]}" if is_shared else title

    def group_label(self, group: Sequence[str]) -> str:
        """A group's name: what its runs share, and how many they are."""
        run = self._store.runs.get(group[0])
        if run is None or len(group) == 1:
            return self.label(group[0])
        title = f"{run.spec.algorithm} · {run.spec.environment}"
        known = (self._store.runs.get(run_id) for run_id in group)
        seeds = {one.spec.seed for one in known if one is not None}
        n = len(group)
        are = (
            tr_n("{n} seed", "{n} seeds", n) if len(seeds) == n else tr_n("{n} run", "{n} runs", n)
        )
        return f"{title} · {are}"

    @property
    def legend(self) -> list[tuple[str, int]]:
        """Label and colour of each run, where there are several."""
        if not self.overlaid:
            return []
        return [(self.group_label(group), n) for n, group in enumerate(self.groups)]

    def nearest(self, name: str, x: float) -> list[Reading]:
        """Each curve's point that is nearest to a place; of a group its mean there, as it was drawn last."""
        found = []
        for colour, group in enumerate(self.groups):
            if len(group) > 1:
                found += self._nearest_mean(group, name, colour, x)
                continue
            followed = self._store.followed.get(group[0])
            places = self._x(followed, name) if followed else np.empty(0)
            if followed is None or not len(places):
                continue
            at = int(np.searchsorted(places, x))
            if at == len(places) or (at > 0 and x - places[at - 1] < places[at] - x):
                at -= 1
            value = float(followed.curves.series[name].values[at])
            found.append(Reading(self.label(group[0]), colour, float(places[at]), value))
        return found

    def _drawn(
        self, run_id: str, name: str, colour: int, low: float, high: float, buckets: int
    ) -> Drawn | None:
        followed = self._store.followed.get(run_id)
        series = followed.curves.series.get(name) if followed else None
        if followed is None or series is None or not len(series):
            return None
        x = self._x(followed, name)
        part = visible(x, low, high)
        if (stretch := series.too_coarse(part, buckets)) is not None:
            self.finer_wanted.emit(Stretch(run_id, name, *stretch, buckets))
        smooth = None
        if self.smoothing > 0:
            smooth = line(x[part], self._scaled(series.smoothed(self.smoothing)[part]), buckets)
        return Drawn(
            run_id=run_id,
            label=self.label(run_id),
            colour=colour,
            raw=line(x[part], self._scaled(series.values[part]), buckets),
            smooth=smooth,
            last=float(series.values[-1]),
        )

    def _mean(
        self, group: Sequence[str], name: str, low: float, high: float, buckets: int
    ) -> Drawn | None:
        """The mean of a group's smoothed curves with its band, in the colours of nobody yet."""
        places = max(2, buckets // BUCKETS_A_PLACE)
        band = mean_band(self._smoothed(group, name, low, high), places)
        if band is None:
            return None
        self._means[name, tuple(group)] = band
        last = float(band.mean[-1])
        scaled = replace(
            band,
            mean=self._scaled(band.mean),
            low=self._scaled(band.low),
            high=self._scaled(band.high),
        )
        mean = line(scaled.x, scaled.mean, buckets, scaled.breaks)
        return Drawn(group[0], "", 0, NO_LINE, mean, last, scaled)

    def _smoothed(
        self, group: Sequence[str], name: str, low: float, high: float
    ) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        curves = []
        for followed in (self._store.followed.get(run_id) for run_id in group):
            if followed is not None and name in followed.curves.series:
                series, x = followed.curves.series[name], self._x(followed, name)
                part = visible(x, low, high)
                # also without smoothing: coarse points then count by what they stand for
                curves.append((x[part], series.smoothed(self.smoothing)[part]))
        return curves

    def _nearest_mean(
        self, group: Sequence[str], name: str, colour: int, x: float
    ) -> list[Reading]:
        band = self._means.get((name, tuple(group)))
        if band is None:
            return []
        at = int(np.abs(band.x - x).argmin())
        spread = float(band.high[at] - band.mean[at])
        place, mean = float(band.x[at]), float(band.mean[at])
        return [Reading(self.group_label(group), colour, place, mean, spread)]

    def _title(self, run_id: str) -> str:
        run = self._store.runs.get(run_id)
        if run is None:
            return run_id[:10]
        seed = tr("seed {seed}", seed=run.spec.seed)
        return f"{run.spec.algorithm} · {run.spec.environment} · {seed}"

    def _followed(self) -> list[tuple[str, Followed]]:
        known = self._store.followed
        return [(i, known[i]) for i in (self.run_id, *self.overlaid) if i in known]

    def _x(self, followed: Followed, name: str) -> NDArray[np.float64]:
        if name not in followed.curves.series:
            return np.empty(0)
        return followed.curves.x_of(name, self.axis)

    def _scaled(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        if not self.log_scale:
            return y
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = np.log10(y)
        return np.where(np.isfinite(scaled), scaled, np.nan)  # no place on this scale: a gap

    def _look_for_names(self) -> None:
        names = list(dict.fromkeys(n for _, f in self._followed() for n in f.curves.names))
        if names == self._names:
            return
        self._names = names
        if not self._chosen_by_user:
            self.charts = first_charts(names)
            self.charts_changed.emit()
        self.names_changed.emit()


def first_charts(names: Sequence[str]) -> list[str]:
    """The curves that are shown until the user chooses: one for each thing that people look at first."""
    chosen: list[str] = []
    for word in _LIKELY:
        # the last part is the metric's own name: `losses/entropy` is no loss
        fitting = (n for n in names if word in n.rsplit("/", 1)[-1].lower())
        match = next((n for n in fitting if not _is_double(n, chosen)), None)
        if match is not None and match not in chosen:
            chosen.append(match)
    rest = [n for n in names if n not in chosen]
    picked = (chosen + rest)[:FIRST_CHARTS]
    return [name for name in names if name in picked]


def _is_double(name: str, chosen: Sequence[str]) -> bool:
    """A worker's own `episodic_return` beside the return that every episode event tells."""
    return any(
        word in name.lower() and any(word in c for c in chosen) for word in ("return", "length")
    )
