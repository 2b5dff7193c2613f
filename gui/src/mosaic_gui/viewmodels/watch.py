"""The watched run: its state and numbers, its curves, its files and episodes."""

from collections.abc import Sequence, Set

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.manifest import ManifestLink, RunManifest
from mosaic_contracts.manifest_words import LinkKind
from mosaic_contracts.runs import ArtifactRow, EpisodeRow, RunView
from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.storage_reports import RunStorage
from mosaic_contracts.worker import Algorithm
from mosaic_gui.state import run_row, wording
from mosaic_gui.state.comparison_words import comparison_title, differing_words
from mosaic_gui.state.episode_list import EpisodeAddress, can_replay
from mosaic_gui.state.episodes import episode_ends, episode_facts
from mosaic_gui.state.external_links import ExternalLink, tensorboard, tracker
from mosaic_gui.state.failure_summary import FailureSummary, failure_summary
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.state.lineage import Lineage, lineage_of
from mosaic_gui.state.run_details import details, use_rows
from mosaic_gui.state.run_files import shown_files
from mosaic_gui.state.start_stages import StartStage, start_stages
from mosaic_gui.state.storage import details_rows
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.viewmodels.curves import CurveModel
from mosaic_gui.viewmodels.files import FilesModel
from mosaic_gui.viewmodels.rows import RowsModel


class WatchModel(CurveModel):
    """The watched run as the watch page shows it."""

    run_replaced = pyqtSignal()
    """Another run is watched."""
    run_changed = pyqtSignal()
    compared_changed = pyqtSignal()
    """Other runs are shown together, or one of them has another name."""
    family_changed = pyqtSignal()
    storage_changed = pyqtSignal()
    """What the run has on the disk was read."""
    links_changed = pyqtSignal()
    """The run's external links changed."""

    def __init__(self, store: Store, parent: QObject | None = None) -> None:
        super().__init__(store, parent)
        self.episodes = RowsModel(
            ("#", tr("Env"), tr("Return"), tr("Length"), tr("Ended by"), tr("At step")),
            numeric=(0, 1, 2, 3, 5),
            parent=self,
        )
        self._episode_rows: list[EpisodeRow] = []
        self.files = FilesModel(self)
        self._links: list[ManifestLink] = []
        self.storage: RunStorage | None = None
        """What the run has on the disk; None: it was not read yet."""
        self._workers: list[WorkerEntry] = []
        self._is_tensorboard_starting = False
        self.too_many = 0
        """Number of runs that were to be compared, where only the first ones are; 0: all are."""
        self._alerts_seen: dict[str, frozenset[int]] = {}
        self.details = RowsModel((tr("Name"), tr("Value")), parent=self)

    @property
    def run(self) -> RunView | None:
        return self._store.runs.get(self.run_id)

    @property
    def is_live(self) -> bool:
        """Whether the run may send more."""
        run = self.run
        return run is not None and not run.state.is_final

    @property
    def worker(self) -> WorkerEntry | None:
        """The run's worker as this stack knows it; None: it does not."""
        run = self.run
        found = (w for w in self._workers if run and w.manifest.id == run.spec.worker)
        return next(found, None)

    @property
    def algorithm(self) -> Algorithm | None:
        """What the run's worker says of its algorithm."""
        worker, run = self.worker, self.run
        offered = worker.description.algorithms if worker and worker.description else []
        return next((a for a in offered if run and a.id == run.spec.algorithm), None)

    def take_workers(self, workers: Sequence[WorkerEntry]) -> None:
        """The catalogue of this stack: what can be done with a run depends on its worker."""
        self._workers = list(workers)
        self.run_changed.emit()

    def set_tensorboard_starting(self, is_starting: bool) -> None:
        """Note whether a TensorBoard is being opened."""
        self._is_tensorboard_starting = is_starting
        self.links_changed.emit()

    @property
    def lineage(self) -> Lineage:
        """Which runs of the list it comes from, and which come from it."""
        run = self.run
        return lineage_of(run, self._store.runs) if run is not None else Lineage()

    def _is_relative(self, run_id: str) -> bool:
        run, other = self.run, self._store.runs.get(run_id)
        if run is None or other is None:
            return False
        return run_id == run.spec.parent or other.spec.parent == self.run_id

    @property
    def shown_ids(self) -> list[str]:
        """Ids of the watched run and of those whose curves are shown with it."""
        return [run_id for run_id in (self.run_id, *self.overlaid) if run_id]

    @property
    def tensorboard(self) -> ExternalLink:
        """TensorBoard with the runs that are shown."""
        return self.tensorboard_of(self.shown_ids)

    def tensorboard_of(self, run_ids: Sequence[str]) -> ExternalLink:
        """TensorBoard with these runs."""
        is_open = self.run_id in run_ids and self._find_link(LinkKind.DASHBOARD) is not None
        return tensorboard(run_ids, is_starting=self._is_tensorboard_starting, is_open=is_open)

    @property
    def tracker(self) -> ExternalLink:
        """The run's page at its tracker."""
        run, followed = self.run, self._store.followed.get(self.run_id)
        if run is None:
            return ExternalLink(obstacle=tr("Choose a run."))
        reported, upload = (followed.tracked, followed.upload) if followed else (None, None)
        known = self._find_link(LinkKind.TRACKER)
        reported = reported or (None if known is None else known.tracked)
        return tracker(run, self.worker, self.algorithm, reported, upload)

    def _find_link(self, kind: LinkKind) -> ManifestLink | None:
        """What the watched run's manifest has of this kind."""
        return next((link for link in self._links if link.kind is kind), None)

    @property
    def card(self) -> FailureSummary | None:
        """What to say of a run that ended without success."""
        followed = self._store.followed.get(self.run_id)
        arguments = followed.config.get("arguments") if followed else None
        return failure_summary(self.run, arguments) if self.run else None

    @property
    def extras(self) -> frozenset[str]:
        """Types of namespaced events that it has; a panel for one appears with its first."""
        followed = self._store.followed.get(self.run_id)
        return followed.extras if followed else frozenset()

    def watch(self, run_id: str, overlaid: Sequence[str] = ()) -> None:
        """Show a run, with others laid over it."""
        self.show_runs(run_id, overlaid)
        wanted = len({run_id, *overlaid})
        self._alerts_seen.clear()
        self.too_many = wanted if wanted > len(self.ordered_ids) else 0
        self._forget_run()
        self.run_replaced.emit()
        self.compared_changed.emit()
        self._look_for_names()
        self.charts_changed.emit()
        self.names_changed.emit()
        self._fill_details()

    def look_at(self, run_id: str) -> None:
        """Show figures, log, files and details of another one of the compared runs; the curves stay."""
        if run_id == self.run_id or run_id not in self.ordered_ids:
            return
        self.run_id, self.overlaid = run_id, [i for i in self.ordered_ids if i != run_id]
        self._forget_run()
        self.run_replaced.emit()
        self._fill_details()

    def _forget_run(self) -> None:
        """Empty the tables about the run that was looked at."""
        self._episode_rows = []
        for rows in (self.episodes, self.details):
            rows.replace([])
        self.files.take("", [])
        self._links, self.storage = [], None

    def consume(self, changes: Changes) -> None:
        """Take the changes of one tick."""
        shown = {self.run_id, *self.overlaid}
        if self.run_id in changes.runs:
            self.run_changed.emit()
            self._fill_details()
            self._fill_episodes()
        if changes.removed or any(self._is_relative(run_id) for run_id in changes.runs):
            self.family_changed.emit()
        if self.overlaid and shown & (changes.runs | changes.removed):
            self.compared_changed.emit()
        if shown & changes.events:
            self._fill_details()
            self.links_changed.emit()
        if shown & (changes.curves | changes.ended) or self._has_new_alerts(shown & changes.events):
            self._whole = None
            self._look_for_names()
            self.curves_grown.emit()

    def _has_new_alerts(self, run_ids: Set[str]) -> bool:
        """Whether there are marks to draw that were not known: alerts of the past come after the curves."""
        known = (self._store.followed.get(run_id) for run_id in run_ids)
        seen = {one.follower.run_id: frozenset(one.alerts) for one in known if one is not None}
        is_new = any(self._alerts_seen.get(i, frozenset()) != found for i, found in seen.items())
        self._alerts_seen |= seen
        return is_new

    def take_episodes(self, rows: Sequence[EpisodeRow]) -> None:
        """The newest episodes."""
        self._episode_rows = list(rows)
        self._fill_episodes()

    def episode_at(self, row: int) -> EpisodeAddress | None:
        """The episode in a row of the table; None where its steps were not recorded."""
        if not 0 <= row < len(self._episode_rows) or not can_replay(self._episode_rows[row]):
            return None
        return EpisodeAddress.of(self.run_id, self._episode_rows[row])

    def _fill_episodes(self) -> None:
        """Fill the table; an open episode of an ended run was cut off."""
        ends = episode_ends(self._episode_rows, self.run)
        pairs = zip(self._episode_rows, ends, strict=True)
        self.episodes.replace([_episode_texts(row, ended) for row, ended in pairs])

    def take_files(self, rows: Sequence[ArtifactRow]) -> None:
        """The files that the run announced."""
        self.files.take(self.run_id, rows)

    def take_storage(self, found: RunStorage | None) -> None:
        """Take what the run has on the disk; None: nothing."""
        self.storage = found
        self.storage_changed.emit()
        self._fill_details()

    def take_manifest(self, manifest: RunManifest) -> None:
        """All that the run has now."""
        self.take_files(shown_files(manifest))
        links = manifest.links
        if links != self._links:
            self._links = links
            self.links_changed.emit()

    def _fill_details(self) -> None:
        run, followed = self.run, self._store.followed.get(self.run_id)
        if run is None:
            return
        used = use_rows(followed.curves) if followed else []
        if self.storage is not None:
            used += details_rows(self.storage)
        self.details.replace(details(run, followed.config if followed else {}, used))

    @property
    def title(self) -> str:
        """What the run, or the runs that are compared, are called."""
        if runs := self.compared:
            return comparison_title(runs)
        return run_row.title(self.run) if self.run else self.run_id

    @property
    def subtitle(self) -> str:
        """Words that distinguish the run from others of its title; of a comparison what its runs differ in."""
        if runs := self.compared:
            words = [tr_n("{n} run", "{n} runs", len(runs)), differing_words(runs), self.left_out]
            return " · ".join(word for word in words if word)
        return run_row.subtitle(self.run) if self.run else ""

    @property
    def compared(self) -> list[RunView]:
        """The runs that are shown together; empty where it is one."""
        known = [self._store.runs[i] for i in self.ordered_ids if i in self._store.runs]
        return known if len(known) > 1 else []

    @property
    def start_stages(self) -> list[StartStage]:
        """What the run has gone through so far, while it has nothing to draw."""
        run, followed = self.run, self._store.followed.get(self.run_id)
        if run is None or self.charts:
            return []
        return start_stages(run, followed.log_events if followed else [], run_row.now())

    @property
    def left_out(self) -> str:
        """How many runs were to be compared, where they are too many."""
        if not self.too_many:
            return ""
        return tr(
            "the first {n} of {total}",
            n=wording.count(len(self.ordered_ids)),
            total=wording.count(self.too_many),
        )

    @property
    def choices(self) -> list[tuple[str, str, int]]:
        """Id, name and colour of each run that is compared."""
        colours = self.colours
        return [(run.run_id, self.label(run.run_id), colours[run.run_id]) for run in self.compared]

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
            (tr("Steps"), run_row.steps_text(run)),
            (tr("Elapsed"), wording.duration(run_row.elapsed_s(run, now))),
        ]
        if run.state.has_process and run.eta_s is not None:
            facts.append((tr("Left"), wording.duration(run.eta_s)))
        if run.sps is not None:
            facts.append((tr("Steps/s"), wording.count(round(run.sps))))
        if summary is not None and summary.episodes:
            facts += episode_facts(summary)
        return facts


def _episode_texts(row: EpisodeRow, ended: str) -> tuple[str, ...]:
    return (
        wording.count(row.episode),
        str(row.env),
        wording.number(row.episode_return),
        wording.count(row.length),
        ended,
        wording.count(row.global_step),
    )
