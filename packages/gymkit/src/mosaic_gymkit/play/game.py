"""One play: the environment goes on by the person's keys, by turns or in real time."""

import time
import traceback
from typing import Any

import gymnasium

from mosaic_contracts.frames import LEASE_S
from mosaic_contracts.play import MAX_RATE, PlayCommand, PlayInput
from mosaic_contracts.wire import Actor
from mosaic_gymkit.play.inputs import PersonInputs
from mosaic_gymkit.play.keymap import KeyMap
from mosaic_gymkit.run import EnvironmentRun
from mosaic_workerkit.control import StopFlag
from mosaic_workerkit.errors import ReportedError

STATE_EVENT = "play.state"
LOOK_S = 0.05
"""Seconds between two looks at the stop flag and at who watches."""
FIRST_VIEWER_S = 120.0
"""Seconds in which the first person must come, at the least."""
_CATCH_UP_STEPS = 3
"""Steps that are caught up after a delay; what is later is let go."""


class HumanGame:
    """Steps one environment for a person.

    Args:
        run: where the environment is recorded and shown.
        env: the environment, as the run made it.
        keymap: of the play.
        inputs: what the person does.
        stop: of the run.
        rate: steps per second in real time; None: by turns.
        waits: whether an episode begins with the first key.
        leave_s: seconds without anybody after which the play ends.
    """

    def __init__(
        self,
        run: EnvironmentRun,
        env: gymnasium.Env[Any, Any],
        keymap: KeyMap,
        inputs: PersonInputs,
        stop: StopFlag,
        *,
        rate: float | None,
        waits: bool,
        leave_s: float,
    ) -> None:
        self._run, self._env, self._keymap, self._inputs = run, env, keymap, inputs
        self._stop = stop
        self._rate = rate
        self._waits = waits
        self._leave_s = leave_s
        self._is_paused = False
        self._is_waiting = waits
        self._is_over = False
        self._has_begun = False
        self._steps = 0
        self._due = 0.0
        self._seen_at = time.monotonic() + max(0.0, FIRST_VIEWER_S - leave_s)
        self._shown_watch = -1
        self._reset_options: dict[str, Any] | None = None
        self.ended = 0
        """Episodes that have ended."""

    def play(
        self, seed: int | None, episodes: int | None, options: dict[str, Any] | None = None
    ) -> None:
        """Play until the run is stopped, this many episodes have ended, or nobody is there any more.

        Args:
            seed: of the first reset.
            episodes: None: as many as the person likes.
            options: of each reset.

        Raises:
            ReportedError: the environment failed.
        """
        self._reset_options = options
        self._reset(seed)
        while not self._stop.requested and self.ended != episodes:
            if not self._look():
                return
            command = self._inputs.next_command()
            if command is not None:
                self._obey(command)
            elif not self._step_if_due():
                self._inputs.wait(self._pause_s())

    def _look(self) -> bool:
        """Show the newest moment to somebody who has come, and let keys go when all have left. False: the play ends."""
        live, now = self._run.live, time.monotonic()
        if live.watch_count != self._shown_watch:
            self._shown_watch = live.watch_count
            live.show_again(0)
        if self._is_attended:
            self._seen_at = now
            return True
        self._inputs.release()
        if now - self._seen_at < self._leave_s:
            return True
        self._run.telemetry.log(
            "info", f"Nobody watched or acted for {self._leave_s:g} s, so that the play ends."
        )
        return False

    @property
    def _is_attended(self) -> bool:
        return self._run.live.is_watched or time.monotonic() - self._inputs.newest_at < LEASE_S

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
            self._is_paused = self._rate is not None
            self._step()
        elif given.do is PlayCommand.RESET:
            self._reset(given.seed)
            return
        elif given.do is PlayCommand.RATE and given.rate is not None and self._rate is not None:
            self._rate = min(given.rate, MAX_RATE)
        self._record_state()

    def _step_if_due(self) -> bool:
        """Step where it is time to. Returns whether something was done."""
        if self._is_paused or not self._is_attended:
            if self._is_paused:
                self._inputs.forget_presses()
            self._due = time.monotonic()
            return False
        if self._is_over:
            if self._waits and not self._inputs.has_press:
                return False
            self._reset(None, begins=True)
            return True
        if self._rate is None:
            if not self._inputs.has_press:
                return False
            self._step()
            return True
        if self._is_waiting:
            if not self._inputs.has_press:
                return False
            self._is_waiting, self._due = False, time.monotonic()
            self._record_state()
        now = time.monotonic()
        if now < self._due:
            return False
        self._due = max(self._due + 1 / self._rate, now - _CATCH_UP_STEPS / self._rate)
        self._step()
        return True

    def _pause_s(self) -> float:
        if self._rate is None or self._is_paused or self._is_waiting or self._is_over:
            return LOOK_S
        return min(LOOK_S, max(0.0, self._due - time.monotonic()))

    def _step(self) -> None:
        keys = self._inputs.keys_of_turn() if self._rate is None else self._inputs.keys_of_step()
        action = self._keymap.action(keys)
        self._run.live.note_input(0, self._inputs.known)
        self._run.set_actor(Actor.HUMAN)
        try:
            _, _, terminated, truncated, _ = self._env.step(action)
        except Exception as error:
            raise self._failure(error, f"at step {self._steps + 1}") from error
        self._steps += 1
        if terminated or truncated:
            self._is_over = True
            self.ended += 1
            self._inputs.forget_presses()
            self._record_state()

    def _reset(self, seed: int | None, *, begins: bool = False) -> None:
        """Begin an episode. `begins`: also its steps, without another key."""
        try:
            observation, _ = self._env.reset(seed=seed, options=self._reset_options)
        except Exception as error:
            raise self._failure(error, "at its reset") from error
        self._steps, self._is_over = 0, False
        self._keymap.reset()
        if self._has_begun:
            self._inputs.forget_presses()
        self._has_begun = True
        self._run.live.note_input(0, self._inputs.known)
        self._shown_watch = self._run.live.watch_count
        self._run.live.show(0, observation)
        self._due = time.monotonic()
        self._is_waiting = self._waits and not begins
        self._record_state()

    def _record_state(self) -> None:
        """Record what the play waits for."""
        self._run.telemetry.extra(
            STATE_EVENT,
            {
                "paused": self._is_paused,
                "waiting": self._rate is not None and self._is_waiting,
                "over": self._is_over,
                "rate": self._rate,
                "input": self._inputs.known,
            },
        )

    def _failure(self, error: Exception, where: str) -> ReportedError:
        traceback.print_exc()
        name = self._env.spec.id if self._env.spec is not None else type(self._env.unwrapped).__name__  # fmt: skip
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return ReportedError(f"{name} failed {where} of its episode: {text}")
