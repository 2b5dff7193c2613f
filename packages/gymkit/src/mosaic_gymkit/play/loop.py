"""One play: an environment goes on by a person's keys, by a policy, or by both."""

import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mosaic_contracts.frames import LEASE_S
from mosaic_contracts.play import (
    MAX_RATE,
    PLAY_KEYS,
    PLAY_STATE,
    PlayCommand,
    PlayInput,
    PlayKeys,
    PlayStatus,
)
from mosaic_contracts.wire import Actor
from mosaic_gymkit.play.inputs import PersonInputs
from mosaic_gymkit.play.keymap import KeyMap
from mosaic_gymkit.play.played import PlayedEnvironment
from mosaic_gymkit.play.timing import PlayTiming
from mosaic_gymkit.run import EnvironmentRun
from mosaic_workerkit.control import StopFlag
from mosaic_workerkit.errors import OutboxError, ReportedError

PERSON_SHARE = "play/person_share"
"""Curve of a play with a policy: the share of each episode's steps that the person took."""
LOOK_S = 0.05
"""Seconds between two looks at the stop flag and at who watches."""
FIRST_VIEWER_S = 120.0
"""Seconds in which the first person must come, at the least."""
_CATCH_UP_STEPS = 3
"""Steps that are caught up after a delay; what is later is let go."""


class PlayLoop:
    """Steps one environment for a person, for a policy, or for both.

    Where there is a policy, it acts; keys of the map that a person holds override it for these steps, and from the
    command `take` to `give` the person is in control. A play that waits for a person stands still while nobody is
    there, and ends after a while.

    Args:
        run: where the environment is recorded and shown.
        env: what is stepped.
        keymap: of the play.
        inputs: what the person does.
        stop: of the run.
        timing: by turns or in real time, and how fast.
        actor: who is in control at first; None: the policy where there is one.
    """

    def __init__(
        self,
        run: EnvironmentRun,
        env: PlayedEnvironment,
        keymap: KeyMap,
        inputs: PersonInputs,
        stop: StopFlag,
        timing: PlayTiming,
        *,
        actor: Actor | None = None,
    ) -> None:
        self._run, self._env, self._keymap, self._inputs = run, env, keymap, inputs
        self._stop, self._timing = stop, timing
        policy_acts = env.has_policy and actor is not Actor.HUMAN
        self._actor = Actor.POLICY if policy_acts else Actor.HUMAN
        self._has_person = not policy_acts
        """Whether a person acts, or may act at any moment: then each step is shown, at a rate that one can follow."""
        self._rate = timing.rate
        self._is_paused = False
        self._is_waiting = False
        self._is_over = False
        self._has_begun = False
        self._length = 0
        self._steps_here = 0
        """Steps of the episode that were taken in this run."""
        self._by_person = 0
        self._due = 0.0
        self._seen_at = time.monotonic() + max(0.0, FIRST_VIEWER_S - timing.leave_s)
        self._shown_watch = -1
        self._seeds: Iterator[int | None] = iter(())
        self.steps = 0
        """Steps of the whole play."""
        self.ended = 0
        """Episodes that have ended."""

    def play(
        self,
        seeds: Iterator[int | None],
        *,
        episodes: int | None = None,
        steps: int | None = None,
        begin: Callable[[], int] | None = None,
    ) -> None:
        """Play until the run is stopped, all episodes or steps are over, or nobody is there to act.

        Args:
            seeds: seed of each episode that nobody gave another one; None: the environment's generator goes on.
            episodes: None: as many as anybody likes.
            steps: as for `episodes`.
            begin: begins the first episode, unseen, and returns how many steps it has then. None: a reset with the
                first seed does.

        Raises:
            ReportedError: the environment failed.
        """
        self._seeds = seeds
        if begin is None:
            self._run.live.show_all(self._has_person)
            self._reset(None)
        else:
            self._run.live.hide(True)
            self._begin(begin)
            self._run.live.hide(False)
            self._shown_watch = -1
            self._run.live.show_all(self._has_person)
        while not self._stop.requested and self.ended != episodes and self.steps != steps:
            if not self._look():
                return
            command = self._inputs.next_command()
            if command is not None:
                self._obey(command)
            elif not self._step_if_due():
                self._inputs.wait(self._pause_s())

    @property
    def rate(self) -> float | None:
        """Steps per second; None: as fast as it goes."""
        if self._rate is None and self._has_person:
            return self._timing.own_rate
        return self._rate

    @property
    def _is_of_person(self) -> bool:
        return self._actor is Actor.HUMAN

    @property
    def _has_turns(self) -> bool:
        """Whether nothing happens before a key is pressed."""
        return self._timing.has_turns and self._is_of_person

    @property
    def _is_attended(self) -> bool:
        return self._run.live.is_watched or time.monotonic() - self._inputs.newest_at < LEASE_S

    def _look(self) -> bool:
        """Look at who is there. False: nobody is, and the play ends."""
        live = self._run.live
        if not self._has_person and self._inputs.has_come and self._is_attended:
            self._person_came()
        if not self._has_person:
            return True
        if live.watch_count != self._shown_watch:
            self._shown_watch = live.watch_count
            live.show_again(0)
        if self._is_attended:
            self._seen_at = time.monotonic()
            return True
        self._inputs.release()
        if not (self._is_of_person or self._is_paused):
            self._has_person = False
            live.show_all(False)
            return True
        if time.monotonic() - self._seen_at < self._timing.leave_s:
            return True
        self._run.telemetry.log(
            "info",
            f"Nobody watched or acted for {self._timing.leave_s:g} s, so that the play ends.",
        )
        return False

    def _person_came(self) -> None:
        self._has_person = True
        self._due = time.monotonic()
        self._run.live.show_all(True)
        self._record_state()

    def _obey(self, given: PlayInput) -> None:
        if given.do is PlayCommand.PAUSE:
            self._is_paused = True
        elif given.do is PlayCommand.RESUME:
            self._is_paused = self._is_waiting = False
            self._inputs.forget_presses()
            self._due = time.monotonic()
        elif given.do is PlayCommand.STEP:
            if self._is_over:
                self._reset(None)
            self._is_waiting = False
            self._is_paused = not self._has_turns
            self._step()
        elif given.do is PlayCommand.RESET:
            self._reset(given.seed)
            return
        elif given.do is PlayCommand.RATE and given.rate is not None:
            self._rate = min(given.rate, MAX_RATE)
        elif given.do is PlayCommand.KEYS:
            self._change_keys(given.key_map or {})
            return
        elif given.do in (PlayCommand.TAKE, PlayCommand.GIVE):
            self._hand_over(Actor.HUMAN if given.do is PlayCommand.TAKE else Actor.POLICY)
        self._record_state()

    def _change_keys(self, named: Mapping[str, Any]) -> None:
        """Act by another key map from the next step on."""
        self._keymap.use(self._keymap.read(named))
        keys = PlayKeys(keys=self._keymap.named, idle=self._keymap.idle)
        self._run.telemetry.extra(PLAY_KEYS, keys.model_dump(mode="json"))

    def _hand_over(self, actor: Actor) -> None:
        """Give control to the person or to the policy; a paused play stays so."""
        self._actor = actor
        self._is_waiting = False
        if actor is Actor.POLICY:
            self._inputs.forget_presses()
        self._due = time.monotonic()

    def _step_if_due(self) -> bool:
        """Step where it is time to. Returns whether something was done."""
        is_still = self._is_of_person and not self._is_attended
        if self._is_paused or is_still:
            if self._is_paused:
                self._inputs.forget_presses()
            self._due = time.monotonic()
            return False
        if self._has_turns:
            return self._take_turn()
        if self._is_waiting:
            if not (self._inputs.has_press or self._inputs.axes_now()):
                return False
            self._is_waiting, self._due = False, time.monotonic()
            self._record_state()
        rate = self.rate
        if rate is not None and not self._is_over:
            now = time.monotonic()
            if now < self._due:
                return False
            self._due = max(self._due + 1 / rate, now - _CATCH_UP_STEPS / rate)
        return self._begin_next() if self._is_over else self._step()

    def _take_turn(self) -> bool:
        """One step for each press."""
        if self._is_over:
            return self._begin_next()
        return self._inputs.has_press and self._step()

    def _begin_next(self) -> bool:
        """Begin the next episode: a person's with a key, a policy's once its last step was to be seen."""
        if self._is_of_person:
            if self._timing.waits and not self._inputs.has_press:
                return False
        elif self.rate is not None and time.monotonic() < self._due:
            return False
        self._reset(None, begins=True)
        return True

    def _pause_s(self) -> float:
        if self._is_paused or self._is_waiting or self._has_turns:
            return LOOK_S
        if self._is_over and self._is_of_person:
            return LOOK_S
        return min(LOOK_S, max(0.0, self._due - time.monotonic()))

    def _step(self) -> bool:
        """Take one step. Returns True."""
        try:
            action, actor = self._choose()
            self._run.live.note_input(0, self._inputs.known)
            self._run.set_actor(actor)
            has_ended = self._env.step(action, actor)
        except (OutboxError, ReportedError):
            raise
        except Exception as error:
            raise self._failure(error, f"at step {self._length + 1}") from error
        self._length += 1
        self._steps_here += 1
        self._by_person += actor is Actor.HUMAN
        self.steps += 1
        if has_ended:
            self._record_share()
            self._is_over = True
            self.ended += 1
            if self._is_of_person:
                self._inputs.forget_presses()
            if self._has_person:
                self._record_state()
        return True

    def _choose(self) -> tuple[object, Actor]:
        """The next action, and who chose it."""
        if not self._has_person:
            return self._env.choose(), Actor.POLICY
        keys = self._keys()
        if keys is not None:
            return self._keymap.action(keys, self._inputs.axes_now()), Actor.HUMAN
        action = self._env.choose()
        self._keymap.follow(action)
        return action, Actor.POLICY

    def _keys(self) -> tuple[str, ...] | None:
        """The keys by which the person acts in this step; None: the policy acts."""
        inputs = self._inputs
        if self._timing.has_turns:
            pressed = inputs.next_press()
            return inputs.held_now() if pressed is None and self._is_of_person else pressed
        keys = inputs.keys_of_step()
        return keys if keys or self._is_of_person or inputs.axes_now() else None

    def _reset(self, seed: int | None, *, begins: bool = False) -> None:
        """Begin another episode. `begins`: also its steps, without another key."""

        def reset() -> int:
            self._env.reset(next(self._seeds) if seed is None else seed)
            return 0

        self._begin(reset, begins=begins)

    def _begin(self, reset: Callable[[], int], *, begins: bool = False) -> None:
        self._keymap.reset()
        if self._has_begun and self._has_person:
            self._inputs.forget_presses()
        self._has_begun = True
        self._steps_here = self._by_person = 0
        self._run.live.note_input(0, self._inputs.known)
        self._shown_watch = self._run.live.watch_count
        self._run.set_actor(Actor.POLICY if self._env.has_policy else Actor.HUMAN)
        try:
            self._length = reset()
        except (OutboxError, ReportedError):
            raise
        except Exception as error:
            raise self._failure(error, "at its reset") from error
        self._is_over = False
        self._due = time.monotonic()
        if self.rate is not None and not self._is_of_person:
            self._due += 1 / self.rate  # its first moment is to be seen
        self._is_waiting = self._is_of_person and self._timing.waits and not begins
        if self._has_person:
            self._record_state()

    def _record_share(self) -> None:
        """Record how much of an episode was the person's, where a policy acts too."""
        if self._has_person and self._env.has_policy:
            share = self._by_person / self._steps_here
            self._run.telemetry.metrics(self._run.global_step, [(PERSON_SHARE, share)])

    def _record_state(self) -> None:
        """Record what the play does now."""
        status = PlayStatus(
            paused=self._is_paused,
            waiting=self._is_waiting and not self._has_turns,
            over=self._is_over,
            rate=None if self._has_turns else self.rate,
            input=self._inputs.known,
            actor=int(self._actor),
        )
        self._run.telemetry.extra(PLAY_STATE, status.model_dump(mode="json"))

    def _failure(self, error: Exception, where: str) -> ReportedError:
        traceback.print_exc()
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return ReportedError(f"{self._env.name} failed {where} of its episode: {text}")
