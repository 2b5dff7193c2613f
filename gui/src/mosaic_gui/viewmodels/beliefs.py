"""Mental states of agents: the episodes that were recorded step by step, and the chosen step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.decisions import DecisionStep
from mosaic_contracts.grid import Grid
from mosaic_contracts.runs import EpisodeRow
from mosaic_gui.state.beliefs_log import NAMESPACES, BeliefsLog, Event, ValueTable
from mosaic_gui.state.episodes import episode_ends
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.state.world import world_of
from mosaic_gui.viewmodels.watch import WatchModel

if TYPE_CHECKING:
    from mosaic_gui.state.policy_map import CellPolicy

_NO_CONFIG: Mapping[str, Any] = {}


class EpisodeKey(NamedTuple):
    """One episode of a run."""

    attempt: int
    env: int
    episode: int


class BeliefsModel(QObject):
    """Mental states of the watched run's agents. It follows the newest step until the user chooses another."""

    offered_changed = pyqtSignal()
    """Whether the panel has content changed."""
    episodes_changed = pyqtSignal()
    decisions_changed = pyqtSignal()
    place_changed = pyqtSignal()
    steps_wanted = pyqtSignal(str, object)
    """Run id and EpisodeKey whose steps are to be read."""

    def __init__(self, store: Store, watch: WatchModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._watch = store, watch
        self.namespaces_of_algorithm: frozenset[str] = frozenset()
        self.log = BeliefsLog()
        self.rows: dict[EpisodeKey, EpisodeRow] = {}
        self.episodes: list[EpisodeKey] = []
        """Those with recorded steps, the newest first."""
        self.key: EpisodeKey | None = None
        self.following = True
        self.at_end = True
        """The newest step of a live run is shown."""
        self.decisions: list[DecisionStep] = []
        self.place = 0
        self._steps: list[Event] = []
        self._step_seqs: list[int] = []
        self._config = _NO_CONFIG
        self._was_offered = self._was_live = False
        watch.run_replaced.connect(self._on_replaced)

    @property
    def run_id(self) -> str:
        """The watched run."""
        return self._watch.run_id

    @property
    def is_live(self) -> bool:
        """Whether the run may send more."""
        return self._watch.is_live

    @property
    def namespaces(self) -> frozenset[str]:
        """Namespaces of the run's events, and those that its algorithm declares."""
        followed = self._store.followed.get(self.run_id)
        extras = followed.extras if followed else frozenset()
        reported = frozenset(kind.partition(".")[0] for kind in extras)
        return (reported | self.log.namespaces | self.namespaces_of_algorithm) & NAMESPACES

    @property
    def is_offered(self) -> bool:
        """Whether the run has content for the panel."""
        return bool(self.namespaces)

    @property
    def config(self) -> Mapping[str, Any]:
        """Data of the run's `config` event."""
        followed = self._store.followed.get(self.run_id)
        return followed.config if followed else _NO_CONFIG

    @property
    def grid(self) -> Grid | None:
        """The world's grid, where it has one."""
        return world_of(self.config)

    @property
    def ends(self) -> list[str]:
        """How each of the episodes ended, in words."""
        return episode_ends([self.rows[key] for key in self.episodes], self._watch.run)

    @property
    def decision(self) -> DecisionStep | None:
        """The step that is chosen."""
        return self.decisions[self.place] if self.place < len(self.decisions) else None

    @property
    def values(self) -> ValueTable | None:
        """The newest table of values before the chosen step; without steps the newest of all."""
        if self.key is None or not self._step_seqs:
            return self.log.newest_values(1, 0)
        seq = self._step_seqs[min(self.place, len(self._step_seqs) - 1)]
        return self.log.values(self.key.attempt, self.key.env, seq)

    @property
    def policy(self) -> list[list[CellPolicy]] | None:
        """What the table of values says of each cell."""
        from mosaic_gui.state.policy_map import policy_map  # numpy, which the window opens without

        grid, values, decision = self.grid, self.values, self.decision
        if grid is None or values is None:
            return None
        return policy_map(grid, values.q, decision.state if decision else None)

    @property
    def is_kept(self) -> bool:
        """Whether the events before the chosen episode are kept one by one."""
        if self.key is None or not self._step_seqs:
            return True
        return self.log.is_kept(self.key.attempt, self.key.env, self._step_seqs[0])

    def consume(self, changes: Changes) -> None:
        """Take the changes of one tick."""
        if self.run_id in changes.events | changes.runs | changes.ended:
            self._update_offered()
            if self.is_live is not self._was_live:
                self._was_live = self.is_live
                self.episodes_changed.emit()  # an open episode goes on no more
            if self.config is not self._config:
                self._config = self.config  # it names actions and cells
                self._look_again()

    def take_namespaces(self, run_id: str, namespaces: frozenset[str]) -> None:
        """Take the namespaces that the run's algorithm declares."""
        if run_id == self.run_id:
            self.namespaces_of_algorithm = namespaces
            self._update_offered()

    def take_events(self, run_id: str, events: Sequence[Event], cursor: str) -> None:
        """Take further events."""
        if run_id != self.run_id or not events:
            return
        self.log.take(events, cursor)
        self._update_offered()
        self._look_again()

    def take_episodes(self, run_id: str, rows: Sequence[EpisodeRow]) -> None:
        """Rows of episodes, in any order; those with recorded steps are offered."""
        if run_id != self.run_id:
            return
        before = dict(self.rows)
        for row in rows:
            if row.recorded_steps:
                self.rows[EpisodeKey(row.attempt, row.env, row.episode)] = row
        if self.rows != before:
            self.episodes = sorted(self.rows, key=self._age, reverse=True)
            self.episodes_changed.emit()
        if self.following and self.episodes:
            newest = self.episodes[0]
            if newest != self.key or self.rows[newest] != before.get(newest):
                self._choose(newest)

    def take_steps(self, run_id: str, key: EpisodeKey, events: Sequence[Event]) -> None:
        """Start and steps of an episode."""
        if run_id == self.run_id and key == self.key:
            self._steps = list(events)
            self._look_again()

    def choose_episode(self, key: EpisodeKey) -> None:
        """Show this episode, and stop following the newest one."""
        self.set_following(False)
        self._choose(key)

    def choose_neighbour(self, offset: int) -> None:
        """Show a recorded episode `offset` later (negative: earlier)."""
        if self.key not in self.episodes:
            return
        at = self.episodes.index(self.key) - offset
        if 0 <= at < len(self.episodes):
            self.choose_episode(self.episodes[at])

    def choose_place(self, place: int) -> None:
        """Show this step, counted from 0."""
        if not self.decisions:
            return
        place = min(max(place, 0), len(self.decisions) - 1)
        if place != self.place:
            self.at_end = place == len(self.decisions) - 1
            self.place = place
            self.place_changed.emit()

    def set_following(self, on: bool) -> None:
        """Follow the newest recorded episode."""
        if on is self.following:
            return
        self.following = on
        self.episodes_changed.emit()
        if on and self.episodes:
            self.at_end = True
            self._choose(self.episodes[0])

    def _choose(self, key: EpisodeKey) -> None:
        if key != self.key:
            self.key, self._steps, self.place = key, [], 0
            self.at_end = self.is_live and self.following
            self.episodes_changed.emit()
        self.steps_wanted.emit(self.run_id, key)

    def _look_again(self) -> None:
        if self.key is None:
            self.place_changed.emit()  # the newest table of values may be another
            return
        self.decisions = self.log.decisions(
            self.config, self.key.attempt, self.key.env, self._steps
        )
        self._step_seqs = [e["seq"] for e in self._steps if e["type"] == "step"]
        last = max(0, len(self.decisions) - 1)
        self.place = last if self.at_end else min(self.place, last)
        self.decisions_changed.emit()
        self.place_changed.emit()

    def _age(self, key: EpisodeKey) -> tuple[int, int, int]:
        row = self.rows[key]
        return key.attempt, row.start_seq or 0, key.episode

    def _clear(self) -> None:
        self.log, self.rows, self.episodes, self.key = BeliefsLog(), {}, [], None
        self.following, self.at_end = True, True
        self.decisions, self.place = [], 0
        self._steps, self._step_seqs, self._config = [], [], _NO_CONFIG

    def _on_replaced(self) -> None:
        self._clear()
        self.namespaces_of_algorithm = frozenset()
        self._update_offered()
        self.episodes_changed.emit()
        self.decisions_changed.emit()
        self.place_changed.emit()

    def _update_offered(self) -> None:
        if self.is_offered is not self._was_offered:
            self._was_offered = self.is_offered
            self.offered_changed.emit()
