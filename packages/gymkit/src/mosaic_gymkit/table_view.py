"""Live view of a world that is stepped by its transition table: an environment of its own is put into the state and
drawn."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium

from mosaic_contracts.compat import Self
from mosaic_contracts.frames import EnvironmentFrame, WatchedEnv, encode_frame
from mosaic_gymkit.drawing import Drawer, NotDrawable
from mosaic_gymkit.live import DrawingBudget, add_picture
from mosaic_gymkit.pictures import PictureEncoder, plain_picture
from mosaic_workerkit.frame_channel import FrameChannel


class TableView:
    """Shows the states of one tabular world, of as many agents as there are.

    Args:
        run_dir: the run's folder.
        run_id: the run.
        make: makes the environment that is drawn; it is called once, when somebody watches.
    """

    def __init__(
        self, run_dir: Path, run_id: str, make: Callable[[], gymnasium.Env[Any, Any]]
    ) -> None:
        self._run_id = run_id
        self._make = make
        self._env: gymnasium.Env[Any, Any] | None = None
        self._drawer: Drawer | None = None
        self._encoder = PictureEncoder()
        self._budgets: dict[int, DrawingBudget] = {}
        self._number = 0
        self.wanted: dict[int, WatchedEnv] = {}
        """What is watched, by the number of the sub-environment; empty: nobody watches."""
        self._channel = FrameChannel(run_dir, self._on_watch)

    def show(
        self,
        env: int,
        episode: int,
        step: int,
        action: int,
        reward: float,
        episode_return: float,
        flags: int,
        state: int,
    ) -> None:
        """Send a frame of a step if one is due. Call it only while `wanted` has `env`.

        Args:
            env: number of the sub-environment.
            episode: number of its episode.
            step: number of the step.
            action: of the step.
            reward: of the step.
            episode_return: sum of the rewards so far.
            flags: bits of `mosaic_contracts.wire.StepFlag`.
            state: number of the state that the step led to.
        """
        wanted, budget = self.wanted.get(env), self._budgets.setdefault(env, DrawingBudget())
        if wanted is None or not budget.is_due():
            return
        self._number += 1
        frame = EnvironmentFrame(
            run_id=self._run_id,
            env=env,
            number=self._number,
            episode=episode,
            step=step,
            t_us=time.time_ns() // 1000,
            action=action,
            reward=reward,
            episode_return=episode_return,
            flags=flags,
            state=state,
        )
        try:
            picture = plain_picture(self._drawer_of(state, action).draw())
            add_picture(frame, self._encoder, picture)
        except NotDrawable as error:
            frame.problem = str(error)
        self._channel.send(encode_frame(frame))
        budget.drawn(wanted)

    def close(self) -> None:
        """Show nothing more."""
        self._channel.close()
        if self._env is not None:
            self._env.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _on_watch(self, wanted: Sequence[WatchedEnv]) -> None:
        """Called in the channel's thread."""
        self.wanted = {each.env: each for each in wanted}

    def _drawer_of(self, state: int, action: int) -> Drawer:
        """The drawer, with the environment in that state (`s` and `lastaction` of Gymnasium's toy text)."""
        if self._env is None or self._drawer is None:
            self._env = self._make()
            self._env.reset()
            self._drawer = Drawer(self._env)
        inner: Any = self._env.unwrapped
        inner.s, inner.lastaction = state, action
        return self._drawer
