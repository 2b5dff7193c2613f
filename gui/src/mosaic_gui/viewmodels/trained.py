"""The page `Use trained`: finished runs of an agent with checkpoints, and options to play one."""

from typing import Any

from PyQt6.QtCore import QObject

from mosaic_contracts.runs import RunView
from mosaic_contracts.worker import Algorithm
from mosaic_gui.state import run_row, wording
from mosaic_gui.state.language import tr
from mosaic_gui.state.play_pace import watching_pace
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.viewmodels.agents import AgentsModel
from mosaic_gui.viewmodels.checkpoint_choice import (
    EPISODES,
    SEED,
    CheckpointChoice,
    CheckpointWatch,
    can_sample,
    has_checkpoints,
)
from mosaic_gui.viewmodels.rows import RowsModel


class TrainedModel(CheckpointChoice):
    """Runs of the chosen agent, the checkpoints of one of them, and the wish to see it act."""

    def __init__(self, store: Store, agents: AgentsModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self.agents = store, agents
        self._checkpoints = CheckpointWatch()
        self.presets: dict[tuple[str, str], dict[str, Any]] = {}
        """By agent: what was chosen last."""
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
    def pace(self) -> float:
        run = self._store.runs.get(self.run_id)
        return watching_pace(run.spec.environment if run else "", self.agents.workers)

    @property
    def may_sample(self) -> bool:
        algorithm = self._algorithm
        return algorithm is not None and can_sample(algorithm.parameters)

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
        if self._checkpoints.take(changes, self._store.runs):
            self.look()

    def look(self) -> None:
        """Update the runs of the chosen agent."""
        key = self.agents.key
        runs = [
            run
            for run in self._store.runs.values()
            if (run.spec.worker, run.spec.algorithm) == key and has_checkpoints(run)
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

    def play_now(self, run: RunView, checkpoint: str) -> None:
        """Play a checkpoint with the agent's last options."""
        chosen = self.presets.get((run.spec.worker, run.spec.algorithm))
        pace = watching_pace(run.spec.environment, self.agents.workers)
        fields = {"episodes": EPISODES, "seed": SEED, "pace": pace} if chosen is None else chosen
        fields = {name: fields[name] for name in fields if name not in ("run", "checkpoint")}
        self.play_wanted.emit(run.run_id, checkpoint, fields)

    def play(self, checkpoint: str, fields: dict[str, Any]) -> None:
        """Play the chosen checkpoint; its options become the agent's preset."""
        if self.obstacle:
            return
        if (key := self.agents.key) is not None:
            self.presets[key] = {"run": self.run_id, "checkpoint": checkpoint, **fields}
        self.play_wanted.emit(self.run_id, checkpoint, fields)

    @property
    def _algorithm(self) -> Algorithm | None:
        key = self.agents.key
        found = (
            worker.description.find_algorithm(key[1])
            for worker in self.agents.workers
            if key and worker.description and worker.manifest.id == key[0]
        )
        return next(found, None)


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
