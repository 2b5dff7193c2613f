"""Watching one run, with others laid over it: which curves, against what, how smooth."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.runs import ArtifactRow, EpisodeRow, RunView
from mosaic_gui.state import run_row, wording
from mosaic_gui.state.axis import XAxis
from mosaic_gui.state.decimation import Line, line, visible
from mosaic_gui.state.end_card import EndCard, end_card
from mosaic_gui.state.smoothing import MOST
from mosaic_gui.state.store import Changes, Followed, Store
from mosaic_gui.viewmodels.rows import RowsModel

MOST_OVERLAID = 7
"""With the run itself as many as there are series colours."""
FIRST_CHARTS = 4
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


@dataclass(frozen=True)
class Stretch:
    """Part of a curve between two steps that is to be read in so many buckets."""

    run_id: str
    name: str
    from_step: int
    to_step: int
    buckets: int


class WatchModel(QObject):
    """What the watch page shows; emits what became different."""

    run_replaced = pyqtSignal()
    """Another run is watched."""
    run_changed = pyqtSignal()
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
        self.following = True
        self._names: list[str] = []
        self.episodes = RowsModel(
            ("#", "Env", "Return", "Length", "Ended by", "At step"),
            numeric=(0, 1, 2, 3, 5),
            parent=self,
        )
        self.files = RowsModel(("File", "Kind", "Size", "At step"), numeric=(2, 3), parent=self)
        self.details = RowsModel(("Argument", "Value"), parent=self)

    @property
    def run(self) -> RunView | None:
        return self._store.runs.get(self.run_id)

    @property
    def card(self) -> EndCard | None:
        """What to say of a run that ended without success."""
        return end_card(self.run) if self.run else None

    @property
    def names(self) -> list[str]:
        """All curves of the run and of those laid over it."""
        return self._names

    @property
    def is_loading(self) -> bool:
        """History is still being read and there is nothing to draw yet."""
        followed = self._store.followed.get(self.run_id)
        return followed is not None and not followed.curves.series and not followed.ended

    @property
    def missed(self) -> int:
        """Events that the gateway could not send and that the store did not have in time."""
        followed = self._store.followed.get(self.run_id)
        return followed.follower.missed if followed else 0

    @property
    def extras(self) -> frozenset[str]:
        """Types of namespaced events that it has; a panel for one appears with its first."""
        followed = self._store.followed.get(self.run_id)
        return followed.extras if followed else frozenset()

    def watch(self, run_id: str, overlaid: Sequence[str] = ()) -> None:
        """Show a run, with others laid over it."""
        self.run_id = run_id
        self.overlaid = [other for other in overlaid if other != run_id][:MOST_OVERLAID]
        self.charts, self._chosen_by_user, self._names = [], False, []
        self.following = True
        for rows in (self.episodes, self.files, self.details):
            rows.replace([])
        self.run_replaced.emit()
        self._look_for_names()
        self.charts_changed.emit()
        self.names_changed.emit()
        self._fill_details()

    def consume(self, changes: Changes) -> None:
        """Take a tick's changes."""
        shown = {self.run_id, *self.overlaid}
        if self.run_id in changes.runs:
            self.run_changed.emit()
        if shown & changes.events:
            self._fill_details()
        if shown & (changes.curves | changes.ended):
            self._look_for_names()
            self.curves_grown.emit()

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
        for colour, (run_id, followed) in enumerate(self._followed()):
            series = followed.curves.series.get(name)
            if series is None or not len(series):
                continue
            x = self._x(followed, name)
            part = visible(x, low, high)
            if (stretch := series.too_coarse(part, buckets)) is not None:
                self.finer_wanted.emit(Stretch(run_id, name, *stretch, buckets))
            smooth = None
            if self.smoothing > 0:
                smooth = line(x[part], self._scaled(series.smoothed(self.smoothing)[part]), buckets)
            found.append(
                Drawn(
                    run_id=run_id,
                    label=self.label(run_id),
                    colour=colour,
                    raw=line(x[part], self._scaled(series.values[part]), buckets),
                    smooth=smooth,
                    last=float(series.values[-1]),
                )
            )
        return found

    def nearest(self, name: str, x: float) -> list[tuple[str, int, float, float]]:
        """Label, colour, place and value of each curve's point that is nearest to a place."""
        found = []
        for colour, (run_id, followed) in enumerate(self._followed()):
            places = self._x(followed, name)
            if not len(places):
                continue
            at = int(np.searchsorted(places, x))
            if at == len(places) or (at > 0 and x - places[at - 1] < places[at] - x):
                at -= 1
            value = float(followed.curves.series[name].values[at])
            found.append((self.label(run_id), colour, float(places[at]), value))
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

    def _title(self, run_id: str) -> str:
        run = self._store.runs.get(run_id)
        if run is None:
            return run_id[:10]
        return f"{run.spec.algorithm} · {run.spec.environment} · seed {run.spec.seed}"

    def take_episodes(self, rows: Sequence[EpisodeRow]) -> None:
        """The newest episodes."""
        self.episodes.replace([_episode_texts(row) for row in rows])

    def take_files(self, rows: Sequence[ArtifactRow]) -> None:
        """The files that the run announced."""
        self.files.replace(
            [
                (r.path, r.kind, wording.bytes_text(r.bytes), wording.count(r.step))
                for r in rows
                if r.exists
            ]
        )

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

    def _fill_details(self) -> None:
        run, followed = self.run, self._store.followed.get(self.run_id)
        if run is None:
            return
        rows = [
            ("Run", run.run_id),
            ("Worker", f"{run.spec.worker} {run.worker_version or ''}".strip()),
            ("Recording", run.spec.record.value),
            ("Created", run.created_at.astimezone().strftime("%d %b %Y, %H:%M:%S")),
        ]
        config = followed.config if followed else {}
        arguments = config.get("arguments") or run.spec.parameters
        rows += [(str(key), _value_text(value)) for key, value in arguments.items()]
        rows += [(f"{key} (package)", str(v)) for key, v in (config.get("packages") or {}).items()]
        self.details.replace(rows)

    @property
    def title(self) -> str:
        """What the run is called."""
        return run_row.title(self.run) if self.run else self.run_id

    @property
    def subtitle(self) -> str:
        """What tells it from others of that title."""
        return run_row.subtitle(self.run) if self.run else ""

    @property
    def legend(self) -> list[tuple[str, int]]:
        """Label and colour of each run, where there are several."""
        ids = [self.run_id, *self.overlaid]
        return [(self.label(i), n) for n, i in enumerate(ids)] if self.overlaid else []

    @property
    def badge(self) -> tuple[str, str]:
        """Word and tone."""
        return run_row.badge(self.run) if self.run else ("", "neutral")

    @property
    def facts(self) -> list[tuple[str, str]]:
        """The numbers above the charts."""
        run = self.run
        if run is None:
            return []
        now = run_row.now()
        summary = run.summary
        facts = [
            ("Steps", run_row.steps_text(run)),
            ("Elapsed", wording.duration(run_row.elapsed_s(run, now))),
        ]
        if run.state.has_process and run.eta_s is not None:
            facts.append(("Left", wording.duration(run.eta_s)))
        if run.sps is not None:
            facts.append(("Steps/s", wording.count(round(run.sps))))
        if summary is not None and summary.episodes:
            facts += [
                ("Episodes", wording.count(summary.episodes)),
                ("Last return", wording.number(summary.last_return)),
                ("Mean of 20", wording.number(summary.mean_return)),
                ("Best", wording.number(summary.best_return)),
            ]
        return facts


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


def _episode_texts(row: EpisodeRow) -> tuple[str, ...]:
    if row.length is None:
        ended = "goes on"
    else:
        ended = "terminated" if row.terminated else "truncated" if row.truncated else "–"
    return (
        wording.count(row.episode),
        str(row.env),
        wording.number(row.episode_return),
        wording.count(row.length),
        ended,
        wording.count(row.global_step),
    )


def _value_text(value: object) -> str:
    if value is None:
        return wording.NOTHING
    return str(value).lower() if isinstance(value, bool) else str(value)
