"""The page `Play`: an environment, who acts in it, how, and the start."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.runs import RunView
from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.worker import KEYS_MARK, OPTIONS_MARK, Environment
from mosaic_gui.state.algorithms import algorithm_of
from mosaic_gui.state.form_field import FormField, FormGroup
from mosaic_gui.state.language import tr
from mosaic_gui.state.play_form import PARAMETERS, PlayForm, PlayWorker, play_workers
from mosaic_gui.state.play_memory import AGENT, PERSON, PlayMemory
from mosaic_gui.state.play_pace import watching_pace
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.viewmodels.checkpoint_choice import (
    CheckpointChoice,
    CheckpointWatch,
    can_sample,
    has_checkpoints,
)

MOST_RECENT = 6
MOST_OTHERS = 50
"""Agents that were trained in other environments, the newest first."""


@dataclass(frozen=True)
class PlayEntry:
    """An environment in the list."""

    id: str
    install: str = ""
    """Command that installs what it lacks; empty: it lacks nothing."""


class PlayStartModel(CheckpointChoice):
    """What is chosen and typed on the page, for each environment."""

    changed = pyqtSignal()
    """Another environment, actor, fault or refusal."""
    environments_changed = pyqtSignal()
    form_replaced = pyqtSignal()
    """Another form, or other values in it."""
    start_wanted = pyqtSignal(dict)
    """Spec of a play by a person."""
    remembered = pyqtSignal()
    """What is remembered of plays has changed."""
    said = pyqtSignal(str)
    """A notice for the user."""

    def __init__(self, store: Store, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._checkpoints = CheckpointWatch()
        self.plays: dict[str, PlayMemory] = {}
        """What is remembered, by environment, the newest last."""
        self.environment = ""
        self.actor = PERSON
        self.form: PlayForm | None = None
        """The form of a play by a person; None: no worker makes the environment for a person."""
        self.is_starting = False
        self.refusal = ""
        """Why the last start failed."""
        self.offered = ""
        """Environment of the checkpoint that was refused in the chosen one; empty: none is offered."""
        self.others: list[RunView] = []
        """Runs whose agents were trained in other environments."""
        self._asked = ""
        """Run whose checkpoint was asked for, which is listed also while it trains."""
        self.entries: list[PlayEntry] = []
        self._found: dict[str, str] = {}
        """Faults that the stack found, by field of the spec."""
        self._workers: list[WorkerEntry] = []
        self._players: list[PlayWorker] = []
        self._forms: dict[str, PlayForm] = {}
        self._sent: dict[str, Any] = {}
        self._agent_fields: dict[str, Any] = {}

    @property
    def is_offered(self) -> bool:
        """Whether some worker lets a person act."""
        return bool(self._players)

    @property
    def takes_own(self) -> bool:
        """Whether environments can be named that no worker lists."""
        return any(player.takes_own for player in self._players)

    @property
    def described(self) -> Environment | None:
        """The chosen environment as its worker describes it."""
        return self.form.environment if self.form is not None else None

    @property
    def obstacle(self) -> str:
        """Why nothing can be started now, in words; empty: it can."""
        if not self.environment:
            return tr("Choose an environment.")
        if self.is_starting:
            return tr("Starting …")
        return self._agent_obstacle() if self.actor == AGENT else self._person_obstacle()

    def _person_obstacle(self) -> str:
        if self.form is None:
            return tr("No worker here lets a person play this environment.")
        if self.form.environment.install:
            return tr("It is not installed.")
        faults = self.form.faults()
        if faults:
            where, fault = next(iter(faults.items()))
            part, _, name = where.partition(".")
            return f"{self.form.inputs(part).fields[name].label}: {fault}"
        return ""

    def _agent_obstacle(self) -> str:
        if not self.run_id:
            none = tr("No agent has left a checkpoint in this environment yet.")
            try_one = tr("Choose one that was trained elsewhere, to try it here.")
            return f"{none} {try_one}" if self.others else none
        if not self.checkpoints:
            return tr("This run has no checkpoint that is still there.")
        return ""

    def fault(self, part: str, name: str) -> str:
        """What is wrong with a field: found here, or by the stack."""
        if self.form is None:
            return ""
        here = self.form.faults().get(f"{part}.{name}", "")
        return here or self._found.get(f"parameters.{name}" if part == PARAMETERS else name, "")

    @property
    def groups(self) -> list[tuple[str, FormGroup]]:
        """Groups of the form with the part that they belong to."""
        return self.form.groups if self.form is not None else []

    def text(self, part: str, name: str) -> str:
        """The text of a field."""
        return self.form.inputs(part).text(name) if self.form is not None else ""

    def is_changed(self, part: str, form_field: FormField) -> bool:
        """Whether a field differs from its default."""
        return self.form is not None and self.form.inputs(part).is_changed(form_field)

    def set_text(self, part: str, name: str, text: str) -> None:
        """Set the text of a field."""
        if self.form is not None:
            self.form.inputs(part).texts[name] = text
            self._edited()

    def reset_field(self, part: str, name: str) -> None:
        """Reset a field to its default."""
        if self.form is not None:
            self.form.inputs(part).texts.pop(name, None)
            self._edited()
            self.form_replaced.emit()

    def take_workers(self, workers: Sequence[WorkerEntry]) -> None:
        """Take the workers of this stack; what was typed is kept."""
        self._workers = list(workers)
        self._players = play_workers(workers)
        texts = {name: form.texts() for name, form in self._forms.items()}
        self._forms = {}
        for name, typed in texts.items():
            if (form := self._form_of(name)) is not None:
                form.take_texts(typed)
        self.form = self._form_of(self.environment)
        self._list()
        self._look()
        if not self.environment and self.entries:
            self.choose_environment(self._first_environment())
        self.form_replaced.emit()
        self.changed.emit()

    def consume(self, changes: Changes) -> None:
        """Take the changes of one tick."""
        if self._checkpoints.take(changes, self._store.runs):
            self._look()
            self._list()

    def choose_environment(self, name: str) -> None:
        """Choose an environment; who acted in it last and what was typed for it come back."""
        if name != self.environment:
            self._asked = ""
            self._enter(name)

    def offer_checkpoint(self, run: RunView, path: str) -> None:
        """Choose a checkpoint to act in its own environment."""
        self._take_checkpoint(run.run_id, path, run.spec.environment)

    def switch_environment(self) -> None:
        """Choose the environment of the refused checkpoint, and start the play there."""
        if not self.offered:
            return
        fields = dict(self._agent_fields)
        path = str(fields.pop("checkpoint", ""))
        self._take_checkpoint(self.run_id, path, self.offered)
        self.start(path, fields)

    def _take_checkpoint(self, run_id: str, path: str, environment: str) -> None:
        self._asked = run_id
        self._enter(environment)
        self.choose_checkpoint(run_id, path)
        self.actor = AGENT
        self._list()
        self.changed.emit()

    def _enter(self, name: str) -> None:
        self.environment, self.refusal, self.offered, self._found = name, "", "", {}
        known = self.plays.get(name)
        self.form = self._form_of(name)
        self._look(fresh=True)
        self.actor = known.actor if known is not None else PERSON
        if known is None and self.form is None and self.runs:
            self.actor = AGENT
        self.form_replaced.emit()
        self.changed.emit()

    def set_actor(self, actor: str) -> None:
        """Choose who acts."""
        if actor != self.actor:
            self.actor, self.refusal, self.offered = actor, "", ""
            self.changed.emit()

    def start(self, checkpoint: str = "", fields: dict[str, Any] | None = None) -> None:
        """Start, if nothing is in the way. `checkpoint`, `fields`: of a play by an agent."""
        if self.obstacle:
            return
        self.is_starting, self.refusal, self.offered, self._found = True, "", "", {}
        self.changed.emit()
        if self.actor == AGENT:
            self._agent_fields = {"checkpoint": checkpoint, **(fields or {})}
            away = {"environment": self.environment} if self.trained_in else {}
            self.play_wanted.emit(self.run_id, checkpoint, {**(fields or {}), **away})
        elif self.form is not None:
            self._send(self.form.spec(self._keys()))

    def start_again(self, run: RunView) -> bool:
        """Start the play of a person once more, with the key map as it was edited since; False: it is none."""
        player = self._player_of(run)
        if player is None:
            return False
        spec = run.spec.model_dump(mode="json", exclude_defaults=True)
        parameters = dict(run.spec.parameters)
        name = player.parameter(KEYS_MARK)
        parameters.pop(name, None)
        if text := self._memory(run.spec.environment).keys_for(self._options_of(run, player)):
            parameters[name] = text
        kept = {key: value for key, value in spec.items() if key not in ("parent", "consent")}
        self._send({**kept, "seed": run.spec.seed, "parameters": parameters})
        return True

    def keys_of(self, run: RunView) -> str | None:
        """The key map as JSON that the next play like this one gets; empty: the default. None: it was not edited."""
        player, known = self._player_of(run), self.plays.get(run.spec.environment)
        if player is None or known is None or not known.keys:
            return None
        return known.keys_for(self._options_of(run, player))

    def keep_keys(self, run: RunView, text: str) -> None:
        """Remember the key map that was edited in a play."""
        player = self._player_of(run)
        if player is not None:
            self._memory(run.spec.environment).keep_keys(self._options_of(run, player), text)
            self.remembered.emit()

    def take_started(self) -> None:
        """The play was started: what was chosen is remembered."""
        if not self.is_starting:
            return  # the same play again, which changes nothing here
        self.is_starting = False
        known = self._memory(self.environment)
        known.actor = self.actor
        if self.actor == AGENT:
            known.run, known.agent = self.run_id, dict(self._agent_fields)
        elif self.form is not None:
            known.texts = self.form.texts()
        self._list()
        self.remembered.emit()
        self.changed.emit()

    def take_refusal(self, words: str, fields: list[dict[str, Any]]) -> None:
        """The start failed; what was typed stays. It is tried again without a key map that does not fit."""
        found = {str(one.get("where")): str(one.get("message")) for one in fields}
        spec, self._sent = self._sent, {}
        if self._drops_keys(spec, found):
            return
        if not self.is_starting:
            self.said.emit(words)  # the same play again: another page is shown
            return
        messages = list(dict.fromkeys(str(one["message"]) for one in fields if one.get("message")))
        # an agent's fields are not those of the spec: what is wrong with the file needs no name of a field
        is_agent = self.actor == AGENT and bool(messages)
        self.is_starting, self.refusal = False, " ".join(messages) if is_agent else words
        self._found = found
        self._take_offer(fields)
        self.changed.emit()

    @property
    def trained_in(self) -> str:
        """The environment of the chosen agent where that is another one; empty: it is the chosen one."""
        run = self._store.runs.get(self.run_id)
        environment = run.spec.environment if run is not None else self.environment
        return environment if environment != self.environment else ""

    @property
    def preset(self) -> dict[str, Any]:
        known = self.plays.get(self.environment)
        if known is None or known.run != self.run_id:
            return {}
        return known.agent

    @property
    def pace(self) -> float:
        return watching_pace(self.environment, self._workers)

    @property
    def may_sample(self) -> bool:
        run = self._store.runs.get(self.run_id)
        algorithm = algorithm_of(run, self._workers) if run is not None else None
        return algorithm is not None and can_sample(algorithm.parameters)

    @property
    def is_hybrid(self) -> bool:
        """Whether a person can take control from the chosen agent."""
        run = self._store.runs.get(self.run_id)
        algorithm = algorithm_of(run, self._workers) if run is not None else None
        return algorithm is not None and algorithm.hybrid

    def agent_title(self, run: RunView) -> str:
        """The name of the agent of a run."""
        algorithm = algorithm_of(run, self._workers)
        return algorithm.title if algorithm is not None else run.spec.algorithm

    def _take_offer(self, fields: list[dict[str, Any]]) -> None:
        """Offer the environment in which a refused checkpoint would act."""
        offers = [one["offers"] for one in fields if isinstance(one.get("offers"), dict)]
        found = next((each["environment"] for each in offers if each.get("environment")), "")
        if self.actor == AGENT and found and found != self.environment:
            self.offered = str(found)
            self.refusal = tr(
                "The checkpoint was trained in {trained}. {chosen} is another environment.",
                trained=self.offered,
                chosen=self.environment,
            )

    def _send(self, spec: dict[str, Any]) -> None:
        self._sent = spec
        self.start_wanted.emit(spec)

    def _drops_keys(self, spec: dict[str, Any], found: dict[str, str]) -> bool:
        """Whether the start is tried again without the user's key map."""
        names = [player.parameter(KEYS_MARK) for player in self._players]
        name = next((n for n in names if f"parameters.{n}" in found), "")
        parameters = spec.get("parameters", {})
        if not name or name not in parameters:
            return False
        why = found[f"parameters.{name}"]
        self.said.emit(
            tr("Your keys do not fit here, so the default ones are used: {why}", why=why)
        )
        self._send({**spec, "parameters": {k: v for k, v in parameters.items() if k != name}})
        return True

    def _keys(self) -> str:
        known = self.plays.get(self.environment)
        text = self.form.options_text if self.form is not None else ""
        return known.keys_for(text) if known is not None else ""

    def _edited(self) -> None:
        self.refusal, self.offered, self._found = "", "", {}
        self.changed.emit()

    def _memory(self, environment: str) -> PlayMemory:
        """What is remembered of an environment, as the newest."""
        known = self.plays.pop(environment, None) or PlayMemory()
        self.plays[environment] = known
        return known

    def _form_of(self, name: str) -> PlayForm | None:
        if name in self._forms:
            return self._forms[name]
        for player in self._players:
            described = next((each for each in player.environments if each.id == name), None)
            if described is None and player.takes_own and ":" in name:
                described = Environment(id=name)
            if described is not None:
                form = self._forms[name] = PlayForm.of(player, described)
                if (known := self.plays.get(name)) is not None:
                    form.take_texts(known.texts)
                return form
        return None

    def _list(self) -> None:
        """Update the list: those that were played last, then all others by name."""
        known = {each.id: each.install for player in self._players for each in player.environments}
        known |= {
            run.spec.environment: "" for run in self._agents() if run.spec.environment not in known
        }
        recent = [name for name in reversed(self.plays) if name in known][:MOST_RECENT]
        entries = [PlayEntry(name, known[name]) for name in recent]
        rest = [PlayEntry(name, install) for name, install in known.items() if name not in recent]
        # what lacks a bundle comes last
        entries += sorted(rest, key=lambda entry: bool(entry.install))
        if entries != self.entries:
            self.entries = entries
            self.environments_changed.emit()

    def _first_environment(self) -> str:
        """The environment that was played last, else the worker's own default."""
        known = [entry.id for entry in self.entries]
        wanted = [*reversed(self.plays), *(p.algorithm.default_environment for p in self._players)]
        return next((name for name in wanted if name in known), known[0])

    def _look(self, *, fresh: bool = False) -> None:
        """Update the runs whose agents can act in the chosen environment."""
        agents = sorted(self._agents(), key=lambda run: run.run_id, reverse=True)
        runs = [run for run in agents if run.spec.environment == self.environment]
        others = [run for run in agents if run.spec.environment != self.environment]
        others = [
            run for n, run in enumerate(others) if n < MOST_OTHERS or run.run_id == self._asked
        ]
        is_same = _listed(runs, others) == _listed(self.runs, self.others)
        self.runs, self.others = runs, others
        if is_same and not fresh:
            return
        known = {run.run_id for run in (*runs, *others)}
        if fresh or self.run_id not in known:
            memory = self.plays.get(self.environment)
            wanted = self._asked or (memory.run if memory is not None else "")
            self.choose(wanted if wanted in known else runs[0].run_id if runs else "")
        self.runs_changed.emit()
        self.changed.emit()

    def _agents(self) -> list[RunView]:
        """Runs that left a checkpoint that can act."""
        found = []
        for run in self._store.runs.values():
            acts = has_checkpoints(run, ended=run.run_id != self._asked)
            algorithm = algorithm_of(run, self._workers) if acts else None
            if algorithm is not None and algorithm.play and not algorithm.human:
                found.append(run)
        return found

    def _player_of(self, run: RunView) -> PlayWorker | None:
        key = run.spec.worker, run.spec.algorithm
        players = self._players
        return next((p for p in players if (p.worker.manifest.id, p.algorithm.id) == key), None)

    def _options_of(self, run: RunView, player: PlayWorker) -> str:
        return str(run.spec.parameters.get(player.parameter(OPTIONS_MARK)) or "")


def _listed(runs: Sequence[RunView], others: Sequence[RunView]) -> list[tuple[str, str]]:
    """What the page shows of runs: one that trains changes many times a second."""
    return [(run.run_id, run.name) for run in (*runs, *others)]
