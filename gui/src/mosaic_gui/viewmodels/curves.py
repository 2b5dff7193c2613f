"""The curves of one run, with others laid over it: which ones, against what, how smooth, each seed or their mean.

`curve_lines` has all that is numeric. It is imported where it is used, for the window opens before there is a curve.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.alert_words import LENGTH
from mosaic_contracts.curve_set import EPISODE_LENGTH, EPISODE_RETURN
from mosaic_contracts.machine import RESOURCE_METRICS
from mosaic_contracts.run_names import distinct_names
from mosaic_contracts.runs import RunView
from mosaic_contracts.spec import RunSpec
from mosaic_gui.state.alert_marks import PlacedMark
from mosaic_gui.state.chart_page import AxisChoice, ValueFit
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.state.points_table import PointsTable, run_points
from mosaic_gui.state.run_colours import RunColours
from mosaic_gui.state.settings import MOST_SMOOTHING, XAxis
from mosaic_gui.state.store import Followed, Store
from mosaic_gui.state.x_zoom import Span
from mosaic_gui.viewmodels.chart_view import ChartView

if TYPE_CHECKING:
    from mosaic_gui.state.chart_line import ChartLine
    from mosaic_gui.state.mean_band import Band, Floats
    from mosaic_gui.state.value_fit import Limits
    from mosaic_gui.viewmodels.curve_lines import ChartCurve

MOST_OVERLAID = 199
"""Runs that are laid over one: all curves of a run are kept while it is shown, some hundred kilobytes. Beyond its eight
colours a chart distinguishes lines by their dashes."""
FIRST_CHARTS = 4
MARGIN = 0.02
"""Free space at both ends of the horizontal axis, as a share of it."""
BUCKETS_A_PLACE = 2
"""A mean has a place for so many buckets: it is smooth, and a wide line's cost grows with its points."""
_EPISODE_CURVES = {LENGTH: EPISODE_LENGTH}
"""Curves of words that alert rules have for episodes; all others are about returns."""
_REPEATS = {"charts/episodic_return": EPISODE_RETURN, "charts/episodic_length": EPISODE_LENGTH}
"""Metrics of many scripts that repeat what their episode events have."""
_LIKELY = ("return", "length", "loss", "q_value", "sps", "entropy")
"""Words in the names of what most people look at first."""


@dataclass(frozen=True)
class Drawn:
    """One run's curve in one chart."""

    run_id: str
    label: str
    colour: int
    """Index of a series colour."""
    raw: ChartLine
    smooth: ChartLine | None
    last: float | None
    band: Band | None = None
    """Around the mean of a group, which is then what `smooth` is."""
    is_faint: bool = False
    """One of a group: it lies beneath the mean."""
    is_older: bool = False
    """Passes over steps that the run has gone through once more since."""

    def heights(self, low: float, high: float) -> list[Floats]:
        """All values that are drawn between two places."""
        return [_between(self.raw.x, self.raw.y, low, high), *self.smooth_heights(low, high)]

    def smooth_heights(self, low: float, high: float) -> list[Floats]:
        """Values of the smoothed line between two places, and of the band around a mean."""
        lines = [] if self.smooth is None else [(self.smooth.x, self.smooth.y)]
        if self.band is not None:
            lines += [(self.band.x, self.band.low), (self.band.x, self.band.high)]
        return [_between(x, y, low, high) for x, y in lines]


@dataclass(frozen=True)
class Stretch:
    """Part of a curve between two steps that is to be read in so many buckets."""

    run_id: str
    name: str
    from_step: int
    to_step: int
    buckets: int


class Reading(NamedTuple):
    """A curve's value at a place."""

    label: str
    colour: int
    x: float
    value: float
    """Smoothed, where the curves are smoothed."""
    spread: float | None = None
    """Standard deviation over a group."""
    raw: float | None = None
    """Value as it was reported, where `value` is a smoothed one."""


class CurveModel(QObject):
    """Curves that the charts draw."""

    charts_changed = pyqtSignal()
    """Other charts are shown, or they are drawn in another way."""
    curves_grown = pyqtSignal()
    names_changed = pyqtSignal()
    rested = pyqtSignal()
    """Nobody has looked at the runs for a while: what draws them may go, and is made again when it is shown."""
    finer_wanted = pyqtSignal(object)
    """A Stretch of which there are too few points for what the user sees."""

    def __init__(self, store: Store, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.run_id = ""
        self.overlaid: list[str] = []
        self._order: list[str] = []
        self._labels: tuple[object, dict[str, str]] = ((), {})
        """Names of the runs, with and without their seeds, and what they were made of."""
        self.charts: list[str] = []
        self._chosen_by_user = False
        self.axis = XAxis.STEP
        self.smoothing = 0.9
        self.log_scale = False
        self.saved_in = ""
        """Folder into which a chart was saved last."""
        self.view = ChartView(self)
        self.grouping = True
        """Runs that differ in their seed alone are drawn as one."""
        self._names: list[str] = []
        self._known_twins: frozenset[str] = frozenset()
        self._run_colours = RunColours()
        self._seeds = SeedGroups()
        self._means: dict[tuple[str, tuple[str, ...]], Band] = {}
        """Groups of each chart as they were drawn last: what the crosshair reads."""
        self._whole: tuple[tuple[object, ...], Span | None] | None = None
        """The whole axis, and of what it was found."""

    def show_runs(self, run_id: str, overlaid: Sequence[str]) -> None:
        """Draw a run, with others laid over it."""
        self.run_id = run_id
        self.overlaid = [other for other in overlaid if other != run_id][:MOST_OVERLAID]
        self._order = [run_id, *self.overlaid]
        self.charts, self._chosen_by_user, self._names = [], False, []
        self._means.clear()
        self._whole = None
        self.view.begin()

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
        """Choose the horizontal axis."""
        if axis is not self.axis:
            self.view.zoom.clear()  # places on one axis mean nothing on another
        self.axis = axis
        self.charts_changed.emit()

    def set_smoothing(self, factor: float) -> None:
        """0: none; up to 0.999."""
        self.smoothing = min(max(factor, 0.0), MOST_SMOOTHING)
        self.charts_changed.emit()

    def set_log_scale(self, on: bool) -> None:
        """Values on a logarithmic scale."""
        self.log_scale = on
        self.charts_changed.emit()

    def set_grouping(self, on: bool) -> None:
        """Draw seeds as one curve with a band, or each by itself."""
        self.grouping = on
        self.charts_changed.emit()

    @property
    def has_seeds(self) -> bool:
        """Some of the runs differ in their seed alone."""
        return len(self._seeds.groups(self._order, self._store.runs)) < len(self._order)

    @property
    def is_sample(self) -> bool:
        """Whether some run recorded only a part of its episodes: then only recorded ones are counted."""
        known = (self._store.runs.get(run_id) for run_id in (self.run_id, *self.overlaid))
        return any(run.summary.is_sample for run in known if run and run.summary)

    @property
    def ordered_ids(self) -> list[str]:
        """Ids of all runs in the order in which they were opened, whichever of them is looked at."""
        return [run_id for run_id in self._order if run_id]

    @property
    def groups(self) -> list[list[str]]:
        """The runs as they are drawn: those of a group share a colour."""
        if not self.grouping:
            return [[run_id] for run_id in self._order]
        return self._seeds.groups(self._order, self._store.runs)

    @property
    def colours(self) -> dict[str, int]:
        """Index of the colour of each run that is drawn; those of a group share one."""
        groups = self.groups
        found = self._run_colours.of([group[0] for group in groups if group[0]])
        return {run_id: found[group[0]] for group in groups if group[0] for run_id in group}

    def set_charts(self, names: Sequence[str]) -> None:
        """Show the charts of these curves and no others."""
        self._chosen_by_user = True
        wanted = set(names)
        self.charts = [name for name in self._names if name in wanted]
        self.charts_changed.emit()

    @property
    def following(self) -> bool:
        """Whether all points are visible, the newest included."""
        return self.view.zoom.span is None

    def set_following(self, on: bool) -> None:
        """Keep all points in sight, or the present stretch."""
        if on is not self.following:
            whole = self.whole_axis()
            self.view.zoom.show(None if on else whole)
            self.view.span_changed.emit()

    def show_span(self, low: float, high: float, gesture: object = None) -> None:
        """Show a stretch of the horizontal axis in all charts of the page.

        Args:
            low, high: First and last visible place; what lies beyond the points is cut off.
            gesture: Equal for changes that are undone together.
        """
        whole = self.whole_axis()
        span = None if whole is None or (low <= whole[0] and high >= whole[1]) else (low, high)
        self.view.show_span(span, whole, gesture)

    @property
    def span(self) -> Span | None:
        """The visible stretch of the horizontal axis; None without points."""
        return self.view.zoom.span or self.whole_axis()

    def whole_axis(self) -> Span | None:
        """The stretch that has all points of all charts on the page, with a margin; None without points."""
        changes = sum(followed.curves.changes for _, followed in self._followed())
        key = (self.axis, tuple(self.charts), self.run_id, tuple(self.overlaid), changes)
        if self._whole is None or self._whole[0] != key:
            found = [extent for name in self.charts if (extent := self.extent(name)) is not None]
            self._whole = (key, _padded(found) if found else None)
        return self._whole[1]

    def set_chart(self, name: str, shown: bool) -> None:
        """Show or hide the chart of a curve."""
        self._chosen_by_user = True
        wanted = [n for n in self.charts if n != name] + ([name] if shown else [])
        self.charts = [n for n in self._names if n in wanted]
        self.charts_changed.emit()

    def extent(self, name: str) -> tuple[float, float] | None:
        """First and last place on the axis over all runs in a chart; None without points."""
        from mosaic_gui.viewmodels import curve_lines

        curves = (self._curve(followed, name) for _, followed in self._followed())
        return curve_lines.extent([one for one in curves if one])

    def drawn(self, name: str, low: float, high: float, buckets: int) -> list[Drawn]:
        """The curves of a chart between two places on its axis, thinned to what its width can show."""
        groups = self.drawn_groups(name, low, high, buckets)
        return [one for group in groups for one in group]

    def drawn_groups(
        self, name: str, low: float, high: float, buckets: int
    ) -> Iterator[list[Drawn]]:
        """As `drawn`, the curves of one colour at a time: each takes about a millisecond."""
        labels, colours = self._names_of_runs(), self.colours
        for group in self.groups:
            if not group[0] or group[0] in self.view.hidden:
                continue
            colour = colours[group[0]]
            members = [
                replace(one, label=labels.get(i, i[:10]))
                for i in group
                for one in self._drawn(i, name, colour, low, high, buckets)
            ]
            if len(group) == 1 or not members:
                yield members
                continue
            yield [replace(one, smooth=None, is_faint=True, last=None) for one in members]
            if (mean := self._mean(group, name, low, high, buckets)) is not None:
                yield [replace(mean, colour=colour, label=self.group_label(group))]

    def value_limits(
        self, name: str, drawn: Sequence[Drawn], low: float, high: float
    ) -> Limits | None:
        """Lowest and highest value of a chart's vertical axis, on its scale; None without points.

        Args:
            name: The chart.
            drawn: Its curves between `low` and `high`.
            low, high: Visible stretch of the horizontal axis.
        """
        from mosaic_gui.state.value_fit import quantiles_of, spread_of

        choice = self.view.page.axis_of(name)
        if choice.fit is ValueFit.QUANTILE:
            found = quantiles_of(self._raw_values(name, low, high))
        elif choice.fit is ValueFit.ALL or self.smoothing == 0:
            found = spread_of([y for one in drawn for y in one.heights(low, high)])
        else:
            found = spread_of([y for one in drawn for y in one.smooth_heights(low, high)])
        # a smoothed line may have no finite value where the raw one has some
        found = found or spread_of([y for one in drawn for y in one.heights(low, high)])
        if choice.fit is not ValueFit.LIMITS:
            return found
        return self._typed_limits(choice, found or (0.0, 1.0))

    def _typed_limits(self, choice: AxisChoice, found: Limits) -> Limits:
        from mosaic_gui.state.value_fit import widened
        from mosaic_gui.viewmodels import curve_lines

        bounds = [
            value if typed is None else curve_lines.limit_on_scale(typed, value, self.log_scale)
            for typed, value in zip((choice.low, choice.high), found, strict=True)
        ]
        return widened(min(bounds), max(bounds))

    def _raw_values(self, name: str, low: float, high: float) -> list[Floats]:
        from mosaic_gui.viewmodels import curve_lines

        hidden = self._hidden_runs
        seen = [followed for run_id, followed in self._followed() if run_id not in hidden]
        curves = (self._curve(followed, name) for followed in seen)
        return [
            values for one in curves if one for values in curve_lines.raw_between(one, low, high)
        ]

    @property
    def _hidden_runs(self) -> set[str]:
        """Runs whose curves are hidden."""
        return {i for group in self.groups if group[0] in self.view.hidden for i in group}

    def points_table(self, name: str) -> PointsTable:
        """Every point of a chart, with the runs that they belong to. For export."""
        runs, hidden = [], self._hidden_runs
        for run_id, followed in self._followed():
            series = followed.curves.series.get(name)
            if series is None or run_id in hidden:
                continue
            columns = (series.steps.tolist(), series.t.tolist(), series.values.tolist())
            points = list(zip(*columns, strict=True))
            runs.append(
                run_points(run_id, self.label(run_id), self._store.runs.get(run_id), points)
            )
        return PointsTable(runs)

    def label(self, run_id: str) -> str:
        """A run's name in a legend: what sets it apart from the others, or its id."""
        return self._names_of_runs().get(run_id, run_id[:10])

    def group_label(self, group: Sequence[str]) -> str:
        """A group's name: what its runs share, and how many they are."""
        run = self._store.runs.get(group[0])
        if run is None or len(group) == 1:
            return self.label(group[0])
        title = self._names_of_runs().get(group_name(group[0]), run.spec.algorithm)
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
        colours = self.colours
        return [(self.group_label(group), colours[group[0]]) for group in self.groups]

    def nearest(self, name: str, x: float) -> list[Reading]:
        """Each curve's point that is nearest to a place; of a group its mean there, as it was drawn last."""
        from mosaic_gui.viewmodels import curve_lines

        found, colours = [], self.colours
        for group in self.groups:
            if not group[0] or group[0] in self.view.hidden:
                continue
            colour = colours[group[0]]
            if len(group) > 1:
                found += self._nearest_mean(group, name, colour, x)
                continue
            followed = self._store.followed.get(group[0])
            curve = self._curve(followed, name) if followed else None
            if curve is None:
                continue
            for number, place, raw, smooth in curve_lines.nearest(curve, x):
                label = self._pass_label(group[0], number, len(curve.parts))
                if smooth is None:
                    found.append(Reading(label, colour, place, raw))
                else:
                    found.append(Reading(label, colour, place, smooth, raw=raw))
        return found

    def alert_marks(self, name: str) -> list[PlacedMark]:
        """Alerts of the runs in a chart where they were raised; those of no curve are on the one of returns."""
        from mosaic_gui.viewmodels import curve_lines

        found, hidden = [], self._hidden_runs
        for run_id, followed in self._followed():
            if not followed.alerts or run_id in hidden:
                continue
            curve = self._curve(followed, name)
            if curve is None:
                continue
            known = followed.curves.series
            for mark in followed.alerts.values():
                at = mark.metric if mark.metric in known else _EPISODE_CURVES.get(mark.metric)
                at = at or EPISODE_RETURN
                if at == name:
                    x = curve_lines.place_of_mark(curve, mark.step, mark.t)
                    found.append(PlacedMark(x, run_id, mark))
        return found

    def _curve(self, followed: Followed, name: str) -> ChartCurve | None:
        from mosaic_gui.viewmodels import curve_lines

        return curve_lines.curve_of(
            followed.curves, name, self.axis, self.smoothing, log_scale=self.log_scale
        )

    def _drawn(
        self, run_id: str, name: str, colour: int, low: float, high: float, buckets: int
    ) -> list[Drawn]:
        """A run's earlier passes as one, and its newest."""
        followed = self._store.followed.get(run_id)
        curve = self._curve(followed, name) if followed is not None else None
        if curve is None:
            return []
        from mosaic_gui.viewmodels import curve_lines

        if (stretch := curve_lines.too_few_points(curve, low, high, buckets)) is not None:
            self.finer_wanted.emit(Stretch(run_id, name, *stretch, buckets))
        raw, smooth = curve_lines.newest_lines(curve, low, high, buckets)
        last = float(curve.series.values[-1])
        newest = Drawn(run_id, "", colour, raw, smooth, last)
        older = curve_lines.older_lines(curve, low, high, buckets)
        if older is None:
            return [newest]
        return [Drawn(run_id, "", colour, *older, last=None, is_older=True), newest]

    def _mean(
        self, group: Sequence[str], name: str, low: float, high: float, buckets: int
    ) -> Drawn | None:
        """The mean of a group's smoothed curves with its band, in the colours of nobody yet."""
        from mosaic_gui.viewmodels import curve_lines

        known = (self._store.followed.get(run_id) for run_id in group)
        curves = [curve for one in known if one and (curve := self._curve(one, name)) is not None]
        places = max(2, buckets // BUCKETS_A_PLACE)
        band = curve_lines.mean_of(curves, low, high, places)
        if band is None:
            return None
        self._means[name, tuple(group)] = band
        mean, scaled = curve_lines.mean_lines(band, buckets, log_scale=self.log_scale)
        return Drawn(group[0], "", 0, curve_lines.NO_LINE, mean, float(band.mean[-1]), scaled)

    def _nearest_mean(
        self, group: Sequence[str], name: str, colour: int, x: float
    ) -> list[Reading]:
        band = self._means.get((name, tuple(group)))
        if band is None:
            return []
        from mosaic_gui.viewmodels import curve_lines

        at = curve_lines.nearest_place(band.x, x)
        spread = float(band.high[at] - band.mean[at])
        place, mean = float(band.x[at]), float(band.mean[at])
        return [Reading(self.group_label(group), colour, place, mean, spread)]

    def _names_of_runs(self) -> dict[str, str]:
        """A name for each run by its id, and one without its seed."""
        runs = [self._store.runs[i] for i in self._order if i in self._store.runs]
        key = [(run.run_id, run.name, run.tags) for run in runs]
        if self._labels[0] != key:
            ids = [run.run_id for run in runs]
            names = dict(zip(ids, distinct_names(runs), strict=True))
            without = distinct_names(runs, seeds=False)
            groups = {group_name(i): name for i, name in zip(ids, without, strict=True)}
            self._labels = (key, names | groups)
        return self._labels[1]

    def _followed(self) -> list[tuple[str, Followed]]:
        known = self._store.followed
        return [(i, known[i]) for i in self._order if i in known]

    def _pass_label(self, run_id: str, number: int, count: int) -> str:
        label = self.label(run_id)
        if count == 1:
            return label
        return f"{label} · " + tr("pass {n} of {total}", n=number, total=count)

    def _look_for_names(self) -> None:
        names = list(dict.fromkeys(n for _, f in self._followed() for n in f.curves.names))
        twins = self._twins(names)
        if names == self._names and twins == self._known_twins:
            return
        are_new = names != self._names
        self._names, self._known_twins = names, twins
        if not self._chosen_by_user:
            self.charts = first_charts([name for name in names if name not in twins])
            self.charts_changed.emit()
        if are_new:
            self.names_changed.emit()

    def _twins(self, names: Sequence[str]) -> frozenset[str]:
        """Metrics that repeat a curve of episodes in all runs that have them, as far as their points are known."""
        runs = [followed.curves for _, followed in self._followed()]
        return frozenset(
            metric
            for metric, curve in _REPEATS.items()
            if metric in names
            and all(run.repeats(metric, curve) for run in runs if metric in run.series)
        )


def first_charts(names: Sequence[str]) -> list[str]:
    """The curves that are shown until the user chooses: one for each thing that people look at first.

    Use of the machine is none of them: it is known seconds before the first return, and says nothing of learning.
    """
    names = [name for name in names if not name.startswith(RESOURCE_METRICS)]
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


def _between(x: Floats, y: Floats, low: float, high: float) -> Floats:
    """Finite values between two places, or all finite ones where no point lies between them."""
    finite = y - y == 0
    inside = finite & (x >= low) & (x <= high)
    found: Floats = y[inside if inside.any() else finite]
    return found


def _padded(extents: Sequence[Span]) -> Span:
    """The stretch from the first to the last place, with a margin."""
    first, last = min(low for low, _ in extents), max(high for _, high in extents)
    margin = MARGIN * (last - first)
    return (first - margin, last + margin) if last > first else (first - MARGIN, first + 1)


def _is_double(name: str, chosen: Sequence[str]) -> bool:
    """Whether a metric is a worker's own `episodic_return`, which repeats the return of its episode events."""
    return any(
        word in name.lower() and any(word in c for c in chosen) for word in ("return", "length")
    )


def group_name(run_id: str) -> str:
    """Key of the name of a run's group."""
    return f"/{run_id}"


class SeedGroups:
    """Finds the runs that are equal but for the seed. What a run has apart from it is read once."""

    def __init__(self) -> None:
        self._keys: dict[str, tuple[RunSpec, str]] = {}

    def groups(self, run_ids: Sequence[str], runs: Mapping[str, RunView]) -> list[list[str]]:
        """The ids in groups that are equal but for the seed, in the order of their first one."""
        groups: dict[str, list[str]] = {}
        for run_id in run_ids:
            run = runs.get(run_id)
            key = run_id if run is None else self._key(run)
            groups.setdefault(key, []).append(run_id)
        return list(groups.values())

    def _key(self, run: RunView) -> str:
        known = self._keys.get(run.run_id)
        if known is None or known[0] is not run.spec:
            known = self._keys[run.run_id] = (run.spec, _seed_key(run.spec))
        return known[1]


def _seed_key(spec: RunSpec) -> str:
    arguments = {key: value for key, value in spec.parameters.items() if key != "seed"}
    reported = [spec.worker, spec.algorithm, spec.environment, spec.steps, arguments]
    return json.dumps(reported, sort_keys=True, default=str)
