"""Finished runs with checkpoints, of which one run and one checkpoint are chosen."""

from collections.abc import Mapping
from typing import Any

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.runs import ArtifactRow, RunView
from mosaic_gui.state.run_files import CHECKPOINT
from mosaic_gui.state.store import Changes

EPISODES, SEED = 10, 1
"""Default values of a play by an agent."""


class CheckpointChoice(QObject):
    """Runs, and the checkpoints of the chosen one."""

    runs_changed = pyqtSignal()
    checkpoints_wanted = pyqtSignal(str)
    """Checkpoints of a run, by its id."""
    checkpoints_changed = pyqtSignal()
    play_wanted = pyqtSignal(str, str, dict)
    """Run, path of its checkpoint, and fields of the new run's spec."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.runs: list[RunView] = []
        self.run_id = ""
        self.checkpoints: list[ArtifactRow] = []
        self.wanted = ""
        """Path of the checkpoint that is chosen once it is listed; empty: the one that was chosen last."""

    @property
    def preset(self) -> dict[str, Any]:
        """What was chosen last: `run`, `checkpoint`, and fields of the spec."""
        return {}

    @property
    def pace(self) -> float:
        """Steps per second at which the chosen run's environment is shown where nothing else is chosen."""
        raise NotImplementedError

    @property
    def may_sample(self) -> bool:
        """Whether the chosen agent can draw its actions, as in its training."""
        raise NotImplementedError

    def consume(self, changes: Changes) -> None:
        """Take the changes of one tick."""
        raise NotImplementedError

    def choose(self, run_id: str) -> None:
        """Choose a run, and request its checkpoints."""
        if run_id == self.run_id:
            return
        self.run_id, self.checkpoints, self.wanted = run_id, [], ""
        self.checkpoints_changed.emit()
        if run_id:
            self.checkpoints_wanted.emit(run_id)

    def choose_checkpoint(self, run_id: str, path: str) -> None:
        """Choose a run, and one of its checkpoints."""
        self.choose(run_id)
        self.wanted = path
        self.checkpoints_changed.emit()

    def take_checkpoints(self, run_id: str, rows: list[ArtifactRow]) -> None:
        """The files of a run, of which the checkpoints that are there are kept, the newest first."""
        if run_id == self.run_id:
            found = [row for row in rows if row.kind == CHECKPOINT and row.exists]
            self.checkpoints = sorted(
                found, key=lambda row: (row.step or 0, row.t or 0), reverse=True
            )
            self.checkpoints_changed.emit()


def has_checkpoints(run: RunView, *, ended: bool = True) -> bool:
    """Whether a run has left checkpoints. `ended`: only one that has ended counts."""
    may_count = run.state.is_final or not ended
    return may_count and run.summary is not None and run.summary.checkpoints > 0


class CheckpointWatch:
    """Notes what runs with checkpoints have become, so that lists of them are made again only when that changes."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[object, ...] | None] = {}

    def take(self, changes: Changes, runs: Mapping[str, RunView]) -> bool:
        """Take a tick; return whether a list of runs with checkpoints may have changed."""
        is_changed = False
        for run_id in changes.removed:
            is_changed |= self._seen.pop(run_id, None) is not None
        for run_id in changes.runs:
            run = runs.get(run_id)
            now = None if run is None else _checkpoint_facts(run)
            is_changed |= self._seen.get(run_id) != now
            self._seen[run_id] = now
        return is_changed


def _checkpoint_facts(run: RunView) -> tuple[object, ...] | None:
    """What a list shows of a run; None: it left no checkpoint."""
    if not has_checkpoints(run, ended=False):
        return None
    is_final, summary = run.state.is_final, run.summary
    returns = (summary.mean_return, summary.best_return) if is_final and summary else ()
    return run.name, is_final, *returns


def can_sample(schema: dict[str, Any]) -> bool:
    """Whether the parameters of an algorithm have one that draws its actions."""
    part = schema.get("properties", {}).get("sampled")
    return isinstance(part, dict) and "boolean" in part.get("type", "")
