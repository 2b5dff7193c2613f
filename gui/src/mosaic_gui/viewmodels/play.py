"""A play: the keys that a person holds, commands, what the run waits for, and what became of each input."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pydantic import ValidationError
from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.frames import EnvironmentFrame
from mosaic_contracts.play import Act, ActRefused, PlayCommand, PlayControls
from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.runs import RunView
from mosaic_contracts.spec import RunKind
from mosaic_gui.state import wording
from mosaic_gui.state.gamepad import PAD_COMMANDS, PadState, pad_axes, pad_keys
from mosaic_gui.state.key_map import EditedKeyMap, keys_of
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.state.live_frames import Fact, action_names
from mosaic_gui.state.play_keys import PlayerCommand, cap_text, command_keys
from mosaic_gui.state.play_status import PlayedEpisode, PlayMoment, ended_episode
from mosaic_gui.state.play_times import KeyDelays
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.timers import single_shot_timer
from mosaic_gui.viewmodels.stage import StageModel
from mosaic_gui.viewmodels.watch import WatchModel

REFUSAL_MS = 6_000
"""Time for which a refused input is shown."""
SETTLE_S = 0.4
"""Time after an episode's end in which keys begin no other: they were meant for the one that ended."""
TRUST_S = 1.5
"""Time for which a command that was sent is believed, against an event from before it."""
AGAIN_MS = 500
"""Time after which the keys that are held are sent again where they did not reach the run."""
_PASSING = frozenset(
    {
        ProblemCode.RUN_NOT_STARTED,
        ProblemCode.FRAMES_UNAVAILABLE,
        ProblemCode.SERVICE_UNAVAILABLE,
        ProblemCode.BROKER_UNAVAILABLE,
    }
)
"""Problems that may be over soon. The run must learn then which keys are held, also that none is."""


class PlayModel(QObject):
    """The watched run as something that a person plays."""

    changed = pyqtSignal()
    """Another run, other controls, or another state of the play."""
    held_changed = pyqtSignal()
    """Other keys are held."""
    map_changed = pyqtSignal()
    """The key map was edited."""
    act_wanted = pyqtSignal(object)
    """An Act that is to be sent."""
    capture_wanted = pyqtSignal()
    """The picture is to take the keyboard."""
    map_edited = pyqtSignal(str)
    """The key map is to be remembered: JSON, empty for the default."""
    again_wanted = pyqtSignal()
    """The same play is to be started again, with the key map as it was edited."""

    def __init__(
        self,
        store: Store,
        watch: WatchModel,
        stage: StageModel,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._store, self._watch, self._stage = store, watch, stage
        self.controls: PlayControls | None = None
        self.map: EditedKeyMap | None = None
        """The key map with the user's changes; None: no person acts."""
        self.held: tuple[str, ...] = ()
        """Keys that are held, in the order in which they were pressed."""
        self.axes: tuple[float, ...] = ()
        """Positions of a gamepad's axes, one for each part of a continuous action; empty: it is at rest."""
        self.pad_name = ""
        """Name of the gamepad that is read; empty: none is."""
        self.pad_problem = ""
        """Why no gamepad can be read here; empty: one can."""
        self._pad = PadState()
        self.is_captured = False
        """Whether the picture has the keyboard."""
        self.refusal = ""
        """Why the newest refused input was not taken; empty: none was, lately."""
        self.loss = ""
        """Why inputs do not reach the run now; empty: they do."""
        self.episodes: list[PlayedEpisode] = []
        """Episodes that ended while they were watched."""
        self.delays = KeyDelays()
        self.remembered_keys: Callable[[RunView], str | None] = lambda _run: None
        """The key map as JSON that the user edited for plays like this one; empty: the default; None: none."""
        self._number = 0
        self._used: frozenset[str] = frozenset()
        self._commands: dict[str, PlayerCommand] = {}
        self._status = PlayMoment()
        self._said: dict[str, bool] = {}
        self._said_at = float("-inf")
        """What the last command made of the play, and when it was sent."""
        self._seen: EnvironmentFrame | None = None
        self._ended_at = float("-inf")
        self._wants_capture = False
        self._map_sent: tuple[int, dict[str, Any]] | None = None
        """Number of the input with the newest key map, and the map that counted before it."""
        self._forget_refusal = single_shot_timer(self, self._on_refusal_old, REFUSAL_MS)
        self._refused_number = 0
        """Number of the newest input that did not reach the run."""
        self._again = single_shot_timer(self, self._say_again, AGAIN_MS)
        watch.run_replaced.connect(self._on_replaced)
        stage.frame_changed.connect(self._on_frame)
        stage.changed.connect(self._on_frame)

    @property
    def run(self) -> RunView | None:
        """The watched run."""
        return self._watch.run

    @property
    def is_played(self) -> bool:
        """Whether a person can act in the run now."""
        return self.controls is not None and self._stage.is_running

    @property
    def is_agent(self) -> bool:
        """Whether a policy acts in the run now whose worker takes no inputs, as far as is known."""
        run, algorithm = self.run, self._watch.algorithm
        return (
            run is not None
            and run.spec.kind is RunKind.PLAY
            and self.controls is None
            and self._stage.is_running
            and algorithm is not None
            and not algorithm.human
        )

    @property
    def has_agent(self) -> bool:
        """Whether a policy acts too, and control can be taken and given."""
        return self.controls is not None and self.controls.has_policy

    @property
    def can_edit(self) -> bool:
        """Whether the key map can be changed."""
        return self.is_played and not self.has_agent

    @property
    def takes_keys(self) -> bool:
        """Whether the picture reads the keyboard while it has the focus."""
        return self.is_played or self.is_agent

    @property
    def calls(self) -> bool:
        """Whether nothing happens before a person takes the keyboard."""
        return self.is_played and not self.is_captured and self.person_acts

    @property
    def was_played(self) -> bool:
        """Whether a person acted in the run, or may have."""
        return self.controls is not None

    @property
    def is_by_turns(self) -> bool:
        """Whether each press of a key is one step."""
        return self.controls is not None and self.controls.timing == "turns"

    @property
    def has_clock(self) -> bool:
        """Whether it goes on by itself now, at a rate."""
        return self.is_played and not (self.is_by_turns and self.person_acts)

    @property
    def status(self) -> PlayMoment:
        """What the play waits for."""
        found = self._status
        if self._seen is not None:
            found = found.with_frame(self._seen)
        if time.monotonic() - self._said_at < TRUST_S:
            found = replace(found, **self._said)
        return found

    @property
    def rate(self) -> float:
        """Steps per second in real time."""
        rate = self.status.rate
        return rate if rate is not None else self.controls.rate if self.controls else 0.0

    @property
    def person_acts(self) -> bool:
        """Whether a person is in control. Keys that are held override a policy also without that."""
        return self.status.person if self.has_agent else self.is_played

    def key_of(self, command: PlayerCommand) -> str:
        """The key of a command; empty: the key map leaves none."""
        return next((key for key, known in self._commands.items() if known is command), "")

    def means(self, name: str) -> bool:
        """Whether a key does something now."""
        return name in self._used or name in self._commands

    @property
    def facts(self) -> list[Fact]:
        """How long keys take, and the gamepad; empty: no person acts."""
        if not self.is_played:
            return []
        last = self.delays.last_ms
        shown = wording.NOTHING if last is None else tr("{ms} ms", ms=f"{last:.0f}")
        pad = [(tr("Gamepad"), self.pad_name)] if self.pad_name else []
        return [(tr("Key to picture"), shown), *pad]

    @property
    def help_words(self) -> str:
        """What is known of the delays."""
        middle = self.delays.median_ms
        if middle is None:
            return self.pad_problem
        words = tr(
            "From a key to the first frame of a step that knew it: {ms} ms (median of the newest).",
            ms=f"{middle:.0f}",
        )
        return f"{words}\n{self.pad_problem}".strip()

    @property
    def headline(self) -> tuple[str, str]:
        """What is asked of the player now, and more on it; both empty: just play."""
        if not self.takes_keys:
            return "", ""
        if self.loss:
            return tr("The connection is lost. It is tried again."), self.loss
        if self.is_agent:
            return "", ""
        if not self.person_acts:
            return self._agent_words()
        if not self.is_captured:
            return tr("Click to play"), self._over_words() if self.status.over else ""
        return self._wait_words()

    def _agent_words(self) -> tuple[str, str]:
        headline = tr("Paused") if self.status.paused else tr("The agent acts")
        if not self.is_captured:
            return headline, tr("Click to act too")
        if self.status.paused:
            return headline, self._pause_words()
        key = self.key_of(PlayerCommand.ACTOR)
        return headline, tr("Your keys override it. {key}: take over", key=cap_text(key))

    def _wait_words(self) -> tuple[str, str]:
        status = self.status
        if status.over:
            return self._over_words(), tr("Any key: next episode")
        if status.paused:
            return tr("Paused"), self._pause_words()
        if status.waiting:
            return tr("Press a key to begin"), ""
        if self.is_by_turns:
            return tr("Your turn"), ""
        return "", ""

    def _over_words(self) -> str:
        ended = self.episodes[-1] if self.episodes else None
        if ended is None:
            return tr("The episode has ended")
        steps = tr_n("{n} step", "{n} steps", ended.length)
        value = wording.number(ended.episode_return)
        return tr("Episode {n}: return {value}, {steps}", n=ended.episode, value=value, steps=steps)

    def _pause_words(self) -> str:
        words = []
        for command, text in ((PlayerCommand.PAUSE, tr("goes on")), (PlayerCommand.STEP, tr("one step"))):  # fmt: skip
            if key := self.key_of(command):
                words.append(f"{cap_text(key)}: {text}")
        return " · ".join(words)

    def press(self, name: str) -> None:
        """A key went down."""
        if not self.takes_keys:
            return
        now = time.monotonic()
        has_just_ended = self.status.over and now - self._ended_at < SETTLE_S
        if name in self._used:
            if name not in self.held:
                self.held = (*self.held, name)
                if not has_just_ended:
                    self._note_press(now)
                    self._say()
                self.held_changed.emit()
        elif (command := self._commands.get(name)) is not None:
            self.do(command)
        elif self.is_played and self.status.over and not has_just_ended:
            self.reset()

    def release(self, name: str) -> None:
        """A key went up."""
        if name in self.held:
            self.held = tuple(key for key in self.held if key != name)
            self._say()
            self.held_changed.emit()

    def take_pad(self, pad: PadState | None, name: str) -> None:
        """Take the positions of the gamepad. Its buttons are keys and commands; its axes move a continuous action.

        Args:
            pad: its positions; None: there is none now.
            name: its name.
        """
        if name != self.pad_name:
            self.pad_name = name
            self.changed.emit()
        now, before = pad or PadState(), self._pad
        if now == before or not self.takes_keys:
            return
        self._pad = now
        ranges = self.controls.axes if self.controls is not None else []
        axes = pad_axes(now, ranges)
        if axes != self.axes:
            self.axes = axes
            self._say()
        had, has = (pad_keys(each, has_axes=bool(ranges)) for each in (before, now))
        for key in had:
            if key not in has:
                self.release(key)
        for key in has:
            if key not in had:
                self.press(key)
        for button in sorted(now.buttons - before.buttons):
            if button in PAD_COMMANDS:
                self.do(PAD_COMMANDS[button])

    def set_captured(self, on: bool) -> None:
        """The picture has the keyboard, or has lost it: then all keys are released."""
        if on is self.is_captured:
            return
        self.is_captured = on
        if self.has_agent:
            self._stage.set_joined(on or self.person_acts)
        if not on and (self.held or self.axes):
            self.held = self.axes = ()
            self._say()
            self.held_changed.emit()
        self._pad = PadState()
        self.changed.emit()

    def capture_soon(self) -> None:
        """Let the picture take the keyboard as soon as a play by a person can begin."""
        self._wants_capture = True
        self._try_capture()

    def do(self, command: PlayerCommand) -> None:
        """Give a command, as its key or button does."""
        if command is PlayerCommand.ACTOR:
            takes = not self.person_acts
            if self.has_agent:
                self._trust(person=takes)
                self._stage.set_joined(takes or self.is_captured)
            self._say(do=PlayCommand.TAKE if takes else PlayCommand.GIVE)
        elif not self.is_played:
            return
        elif command is PlayerCommand.PAUSE:
            self.set_paused(not self.status.paused)
        elif command is PlayerCommand.STEP:
            # by turns a step does not pause
            self._trust(paused=self.status.paused or self.has_clock)
            self._say(do=PlayCommand.STEP)
        else:
            self.reset()

    def set_paused(self, on: bool) -> None:
        """Pause the play, or let it go on."""
        self._trust(paused=on)
        self.delays.forget()
        self._say(do=PlayCommand.PAUSE if on else PlayCommand.RESUME)

    def reset(self, seed: int | None = None) -> None:
        """Begin another episode. `seed`: None goes on with the environment's generator."""
        self.delays.forget()
        self._say(do=PlayCommand.RESET, seed=seed)

    def set_rate(self, steps_per_s: float) -> None:
        """Set the steps per second in real time."""
        self._say(do=PlayCommand.RATE, rate=steps_per_s)

    def edit_map(self) -> None:
        """Let the key map count as it was edited, from the next step on and in later plays."""
        if self.map is None:
            return
        self.map_edited.emit(self.map.text)
        if self.is_played and self.map.keys:
            keys = dict(self.map.keys)
            self._map_sent = (self._number + 1, self.map.count(keys))
            self._use(keys)
            self._say(do=PlayCommand.KEYS, key_map=keys)
        self.map_changed.emit()

    def _use(self, keys: dict[str, Any]) -> None:
        """Read the keys of this map, and leave the others to commands."""
        self._used = keys_of(keys)
        self._commands = command_keys(self._used)
        self.held = tuple(key for key in self.held if key in self._used)

    def play_again(self) -> None:
        """Start the same play again."""
        self.again_wanted.emit()

    def take_acted(self, run_id: str, _number: int) -> None:
        """The run's worker has all inputs up to this number."""
        self.take_back(run_id)

    def take_refused(self, refused: ActRefused) -> None:
        """Inputs did not reach the run, or its worker refused them."""
        if refused.run_id != self._stage.run_id:
            return
        sent = self._map_sent
        if sent is not None and self.map is not None and refused.first <= sent[0] <= refused.number:
            self._map_sent = None
            self.map.count(sent[1])
            self._use(sent[1])
            self.map_changed.emit()
        problem = refused.problem
        if problem.code is ProblemCode.RUN_ENDED:
            return  # the run's state says it
        if problem.code in _PASSING:
            self._refused_number = refused.number
            self._again.start()
        self.refusal = (problem.detail or problem.title).strip()
        self._said_at = float("-inf")
        self.delays.forget()
        self._forget_refusal.start()
        self.changed.emit()

    def take_loss(self, run_id: str, words: str) -> None:
        """Inputs do not reach the run, and why."""
        if run_id == self._stage.run_id and words != self.loss:
            self.loss = words
            self.delays.forget()
            self.changed.emit()

    def take_back(self, run_id: str) -> None:
        """Inputs reach the run again: it gets the keys that are held now."""
        if run_id == self._stage.run_id and self.loss:
            self.loss = ""
            self._say()
            self.changed.emit()

    def consume(self, changes: Changes) -> None:
        """Take the changes of one tick."""
        if self._stage.run_id in changes.events | changes.runs:
            self._look()

    def _say(self, **more: Any) -> None:
        if not self.takes_keys:
            return
        self._number += 1
        run_id, env = self._stage.run_id, self._stage.env
        keys, axes = list(self.held), list(self.axes)
        act = Act(run_id=run_id, env=env, number=self._number, keys=keys, axes=axes, **more)
        self.act_wanted.emit(act)
        if more:
            self.changed.emit()

    def _note_press(self, now: float) -> None:
        if not self.status.paused:
            self.delays.note(self._number + 1, now)

    def _trust(self, **said: bool) -> None:
        """Believe what a command makes of the play until its worker has said so."""
        self._said, self._said_at = said, time.monotonic()

    def _on_replaced(self) -> None:
        self.controls = self.map = self._seen = self._map_sent = None
        self._said_at = float("-inf")
        self.held, self.refusal, self.loss, self.episodes = (), "", "", []
        self.axes, self._pad = (), PadState()
        self._used, self._commands = frozenset(), {}
        self._status = PlayMoment()
        self._wants_capture = False
        self.delays.clear()
        self._forget_refusal.stop()
        self._again.stop()
        self._look()
        self.map_changed.emit()

    def _look(self) -> None:
        """Read the run's configuration, and what it reported last."""
        followed = self._store.followed.get(self._stage.run_id)
        if followed is not None and self.controls is None and "play" in followed.config:
            self._take_controls(followed.config["play"])
        if followed is not None and followed.play_state is not None:
            found = PlayMoment.of_event(followed.play_state.get("data"))
            self._status = found or self._status
        if not self._commands and self.is_agent:
            self._commands = command_keys(())
        if not self._stage.is_running:
            self.refusal = self.loss = ""
            if self.held:
                self.held = ()
                self.held_changed.emit()
        self._try_capture()
        self.changed.emit()

    def _take_controls(self, data: Any) -> None:
        try:
            controls = PlayControls.model_validate(data)
        except ValidationError:
            return  # a worker of a version that this client does not know: it is watched only
        self.controls = controls
        self._status = replace(self._status, person=not controls.has_policy)
        keys = self._counting_keys() or controls.keys
        self._use(keys)
        self.map = EditedKeyMap(
            keys,
            controls.meanings,
            controls.default_keys,
            action_names(self._stage.grid),
        )
        remembered = self.remembered_keys(self.run) if self.run is not None else None
        if remembered is not None:
            self.map.take(remembered)
        self.map_changed.emit()

    def _counting_keys(self) -> dict[str, Any]:
        """The key map that somebody gave the play since it began; empty: nobody did."""
        followed = self._store.followed.get(self._stage.run_id)
        event = None if followed is None else followed.play_keys
        keys = (event or {}).get("data", {}).get("keys")
        return keys if isinstance(keys, dict) else {}

    def _try_capture(self) -> None:
        is_ready = self.is_played and not self.has_agent and self._stage.frame is not None
        if self._wants_capture and is_ready:
            self._wants_capture = False
            self.capture_wanted.emit()

    def _on_frame(self) -> None:
        frame = self._stage.frame
        if frame is None or frame is self._seen:
            return
        before = self.status
        self._seen = frame
        self.delays.take_frame(frame.input, time.monotonic())
        ended = ended_episode(frame)
        if ended is not None and ended not in self.episodes[-1:]:
            self.episodes.append(ended)
            self._ended_at = time.monotonic()
        self.take_back(frame.run_id)
        if before != self.status:
            self.changed.emit()
        self._try_capture()

    def _say_again(self) -> None:
        """Send the keys that are held, unless a later input did."""
        if self._refused_number == self._number:
            self._say()

    def _on_refusal_old(self) -> None:
        self.refusal = ""
        self.changed.emit()
