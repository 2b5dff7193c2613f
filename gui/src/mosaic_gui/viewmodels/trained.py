"""The page `Use trained`: finished runs of an agent with checkpoints, and options to play one."""

from typing import Any

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.runs import ArtifactRow, RunView
from mosaic_gui.state import run_row, wording
from mosaic_gui.state.language import tr
from mosaic_gui.state.run_files import CHECKPOINT
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.viewmodels.agents import AgentsModel
from mosaic_gui.viewmodels.rows import RowsModel

HOW_IT_ACTS = {"episodes": 10, "pace": 4, "seed": 1}
"""Default values: slow enough to be watched."""


class TrainedModel(QObject):
    """Runs, the checkpoints of the chosen one, and the wish to see it act."""

    runs_changed = pyqtSignal()
    checkpoints_wanted = pyqtSignal(str)
    """Checkpoints of a run, by its id."""
    checkpoints_changed = pyqtSignal()
    play_wanted = pyqtSignal(str, str, dict)
    """Run, path of its checkpoint, and fields of the new run's spec."""

    def __init__(self, store: Store, agents: AgentsModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self.agents = store, agents
        self.presets: dict[tuple[str, str], dict[str, Any]] = {}
        """By agent: what was chosen last."""
        self.runs: list[RunView] = []
        self.run_id = ""
        self.checkpoints: list[ArtifactRow] = []
        self.rows = RowsModel(
            (tr("Run"), tr("Environment"), tr("Seed"), tr("Mean of 20"), tr("Best"), tr("Ended")),
            numeric=(2, 3, 4),
            parent=self,
        )
        agents.changed.connect(self.look)

    @property
    def preset(self) -> dict[str, Any]:
        """What was chosen last for this agent."""
        key = self.agents.key
        return self.presets.get(key, {}) if key else {}

    @property
    def obstacle(self) -> str:
        """Why nothing can be played now, in words; empty when it can."""
        agent = self.agents.agent
        if agent is None:
            return tr("Choose an agent in the agents panel.")
        if not agent.plays:
            return tr(
                "The worker does not say that checkpoints of {algorithm} can act without learning.",
                algorithm=agent.title,
            )
        if not self.run_id:
            return tr("Choose a run.")
        if not self.checkpoints:
            return tr("This run has no checkpoint that is still there.")
        return ""

    def consume(self, changes: Changes) -> None:
        """Take the changes of one tick."""
        if changes.runs or changes.removed:
            self.look()

    def look(self) -> None:
        """Update the runs of the chosen agent."""
        key = self.agents.key
        runs = [
            run
            for run in self._store.runs.values()
            if (run.spec.worker, run.spec.algorithm) == key and _has_checkpoints(run)
        ]
        runs.sort(key=lambda run: run.run_id, reverse=True)
        if runs == self.runs:
            return
        self.runs = runs
        self.rows.replace([_texts(run) for run in runs])
        known = {run.run_id for run in runs}
        if self.run_id not in known:
            wanted = str(self.preset.get("run", ""))
            self.choose(wanted if wanted in known else runs[0].run_id if runs else "")
        self.runs_changed.emit()

    def choose(self, run_id: str) -> None:
        """Choose a run, and request its checkpoints."""
        if run_id == self.run_id:
            return
        self.run_id, self.checkpoints = run_id, []
        self.checkpoints_changed.emit()
        if run_id:
            self.checkpoints_wanted.emit(run_id)

    def take_checkpoints(self, run_id: str, rows: list[ArtifactRow]) -> None:
        """The files of a run, of which the checkpoints that are there are kept, the newest first."""
        if run_id == self.run_id:
            found = [row for row in rows if row.kind == CHECKPOINT and row.exists]
            self.checkpoints = sorted(
                found, key=lambda row: (row.step or 0, row.t or 0), reverse=True
            )
            self.checkpoints_changed.emit()

    def play_now(self, run: RunView, checkpoint: str) -> None:
        """Play a checkpoint with the agent's last options."""
        chosen = self.presets.get((run.spec.worker, run.spec.algorithm)) or HOW_IT_ACTS
        fields = {name: chosen[name] for name in HOW_IT_ACTS if name in chosen}
        self.play_wanted.emit(run.run_id, checkpoint, fields)

    def play(self, checkpoint: str, fields: dict[str, Any]) -> None:
        """Play the chosen checkpoint; its options become the agent's preset."""
        if self.obstacle:
            return
        if (key := self.agents.key) is not None:
            self.presets[key] = {"run": self.run_id, "checkpoint": checkpoint, **fields}
        self.play_wanted.emit(self.run_id, checkpoint, fields)


def _has_checkpoints(run: RunView) -> bool:
    return run.state.is_final and run.summary is not None and run.summary.checkpoints > 0


def _texts(run: RunView) -> tuple[str, ...]:
    summary = run.summary
    mean = wording.number(summary.mean_return if summary else None)
    best = wording.number(summary.best_return if summary else None)
    if summary is not None and summary.is_sample:
        mean, best = tr("{value} (recorded)", value=mean), tr("{value} (recorded)", value=best)
    return (
        run.spec.name or run_row.subtitle(run),
        run.spec.environment,
        str(run.spec.seed),
        mean,
        best,
        wording.ago(run.ended_at or run.created_at, run_row.now()),
    )
