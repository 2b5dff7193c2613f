"""The page `Storage`: what fills the disks, what would go, and the trash."""

from collections.abc import Sequence
from datetime import datetime

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.storage import StorageProfiles
from mosaic_contracts.storage_reports import PrunePlan, RunStorage, StorageReport
from mosaic_gui.state import run_row
from mosaic_gui.state.language import tr
from mosaic_gui.state.storage import (
    RunNames,
    map_entries,
    plan_rows,
    run_names,
    stack_rows,
    total_bytes,
    trash_rows,
)
from mosaic_gui.state.storage_map import MapGrouping, MapTile, kind_order, kind_totals, map_groups
from mosaic_gui.state.store import Store
from mosaic_gui.viewmodels.rows import RowsModel
from mosaic_gui.viewmodels.storage_tiles import StorageTiles


class StorageModel(QObject):
    """What the page shows, and what the user wants of it. It is read while the page is visible."""

    changed = pyqtSignal()
    """Another report, plan, progress or problem; the chosen run may be another."""
    chosen_changed = pyqtSignal()
    wanted = pyqtSignal()
    """Report and plan are to be read."""
    prune_wanted = pyqtSignal(list)
    """Run ids; empty: all that the plan has."""
    undo_wanted = pyqtSignal(list)
    """Numbers of files in the trash; empty: all."""
    pin_wanted = pyqtSignal(str, bool)
    """A run, and whether it is to be pinned."""
    run_wanted = pyqtSignal(str)
    profiles_wanted = pyqtSignal()
    """The profiles that a run may have are to be read."""
    profiles_known = pyqtSignal(list)
    """Names of these profiles, the default one first."""
    profile_wanted = pyqtSignal(str, object)
    """A run, and the name of its profile; None: the default one."""

    def __init__(self, store: Store, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.report: StorageReport | None = None
        self.plan: PrunePlan | None = None
        self.tiles = StorageTiles(self)
        self.totals: list[tuple[str, int]] = []
        """Bytes by kind, the largest first."""
        self.grouping = MapGrouping.ORIGIN
        self.chosen = ""
        """Run that is chosen; empty: none, or the smaller runs."""
        self.chosen_group = ""
        """Group of the chosen tile: in a picture by kind a run has several."""
        self.problem = ""
        """Why nothing could be read; empty: it was."""
        self.progress: tuple[str, int, int] | None = None
        """What is done, files that are done, and all; None: nothing is."""
        self.is_shown = False
        self._by_id: dict[str, RunStorage] = {}
        self.next_rows = RowsModel(
            (tr("Run"), tr("File"), tr("Kind"), tr("Size"), tr("Why")), (3,), self
        )
        self.trash_rows = RowsModel(
            (tr("Run"), tr("File"), tr("Kind"), tr("Size"), tr("Deleted")), (3,), self
        )
        self.stack_rows = RowsModel(
            (tr("Part of the stack"), tr("Size"), tr("Content")), (1,), self
        )

    @property
    def run(self) -> RunStorage | None:
        """The chosen run."""
        return self._by_id.get(self.chosen)

    @property
    def run_name(self) -> str:
        """Name of the chosen run."""
        known = self._store.runs.get(self.chosen)
        if known is not None:
            return run_names(known).name
        return self.run.name if self.run is not None else ""

    @property
    def total(self) -> int:
        """Bytes of the whole stack."""
        return total_bytes(self.report) if self.report is not None else 0

    @property
    def is_empty(self) -> bool:
        """Whether there is no run to show."""
        return self.report is not None and not self.tiles.tiles

    @property
    def now(self) -> datetime:
        """The present time."""
        return run_row.now()

    @property
    def may_prune(self) -> bool:
        """Whether something would go, and nothing is going now."""
        return self.progress is None and self.plan is not None and self.plan.files > 0

    def planned_of(self, run_id: str) -> tuple[int, int]:
        """Files and bytes of a run that would go now, as far as the plan lists them."""
        items = [item for item in (self.plan.items if self.plan else ()) if item.run_id == run_id]
        return sum(item.files for item in items), sum(item.bytes for item in items)

    def set_shown(self, shown: bool) -> None:
        """Note whether the page is visible; nothing is read for a hidden one."""
        self.is_shown = shown
        if shown:
            self.wanted.emit()

    def take_report(self, report: StorageReport) -> None:
        """Take what the disks hold."""
        self.report, self.problem = report, ""
        self._by_id = {run.run_id: run for run in report.runs}
        if self.chosen not in self._by_id:
            self.chosen = self.chosen_group = ""
        self._fill()

    def take_plan(self, plan: PrunePlan) -> None:
        """Take what would go now."""
        self.plan = plan
        self.next_rows.replace(plan_rows(plan, self._names()))
        self.changed.emit()

    def take_problem(self, words: str) -> None:
        """Nothing could be read; what was read before stays."""
        self.problem = words
        self.changed.emit()

    def take_progress(self, words: str, done: int, total: int) -> None:
        """Note how far a removal or restoration is."""
        self.progress = (words, done, total)
        self.changed.emit()

    def end_progress(self) -> None:
        """Nothing is removed or brought back any more."""
        self.progress = None
        self.changed.emit()

    def forget(self) -> None:
        """Forget everything of this stack."""
        self.report = self.plan = self.progress = None
        self.problem = self.chosen = self.chosen_group = ""
        self._by_id = {}
        self.next_rows.replace([])
        self._fill()

    def pass_time(self) -> None:
        """Update the time that removed files have left."""
        if self.is_shown and self.report is not None:
            self.trash_rows.replace(trash_rows(self.report.trash.items, self.now, self._names()))

    def group_by(self, key: str) -> None:
        """Group the tiles in another way."""
        self.grouping = MapGrouping(key)
        self._fill()

    def choose(self, tile: MapTile | None) -> None:
        """Choose a tile."""
        run_id, group = ("", "") if tile is None else (tile.run_id, tile.group)
        if (run_id, group) != (self.chosen, self.chosen_group):
            self.chosen, self.chosen_group = run_id, group
            self.chosen_changed.emit()

    def prune(self, run_ids: Sequence[str] = ()) -> None:
        """Remove what the plan has, of all runs or of some."""
        if self.may_prune:
            self.prune_wanted.emit(list(run_ids))

    def undo(self, rows: Sequence[int] = ()) -> None:
        """Bring back the files of some rows of the trash; without any, all."""
        if self.report is None or self.progress is not None:
            return
        items = self.report.trash.items
        self.undo_wanted.emit([items[row].id for row in rows if 0 <= row < len(items)])

    def toggle_pin(self) -> None:
        """Pin the chosen run, or unpin it."""
        if self.run is not None:
            self.pin_wanted.emit(self.run.run_id, not self.run.pinned)

    def want_profiles(self) -> None:
        """Read which profiles the chosen run may have."""
        if self.run is not None:
            self.profiles_wanted.emit()

    def take_profiles(self, known: StorageProfiles) -> None:
        """Take the profiles that are in force."""
        others = sorted(name for name in known.profiles if name != known.default)
        self.profiles_known.emit([known.default, *others])

    def choose_profile(self, name: str | None) -> None:
        """Give the chosen run another profile; None: the default one."""
        if self.run is not None:
            self.profile_wanted.emit(self.run.run_id, name)

    def show_run(self) -> None:
        """Open the chosen run."""
        if self.run is not None:
            self.run_wanted.emit(self.run.run_id)

    def _names(self) -> dict[str, RunNames]:
        """Names of the runs that the page may show."""
        report = self.report
        items = [*report.runs, *report.trash.items] if report is not None else []
        wanted = {one.run_id for one in (*items, *(self.plan.items if self.plan else ()))}
        found = (self._store.runs.get(run_id) for run_id in wanted if run_id)
        return {run.run_id: run_names(run) for run in found if run is not None}

    def _fill(self) -> None:
        report = self.report
        names = self._names()
        entries = map_entries(report, names) if report is not None else []
        totals = kind_totals(entries)
        self.totals = [(kind, totals[kind]) for kind in kind_order(totals)]
        self.tiles.replace(map_groups(entries, self.grouping))
        trash = report.trash.items if report is not None else []
        self.trash_rows.replace(trash_rows(trash, self.now, names))
        self.stack_rows.replace(stack_rows(report) if report else [])
        self.changed.emit()
