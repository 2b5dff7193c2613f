"""Pictures of a world that is stepped by its transition table: an environment of its own is put into the state and
drawn, for those who watch and for clips."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium
from numpy.typing import NDArray

from mosaic_contracts.compat import Self
from mosaic_contracts.frames import EnvironmentFrame, WatchedEnv, encode_frame
from mosaic_gymkit.clips import ClipSeries
from mosaic_gymkit.drawing import Drawer, NotDrawable
from mosaic_gymkit.live import DrawingBudget, add_picture
from mosaic_gymkit.pictures import PictureEncoder, plain_picture
from mosaic_workerkit.frame_channel import FrameChannel
from mosaic_workerkit.telemetry import Telemetry


class TableDrawer:
    """Draws the states of one tabular world.

    Args:
        make: makes the environment that is drawn; it is called once, for the first picture.
    """

    def __init__(self, make: Callable[[], gymnasium.Env[Any, Any]]) -> None:
        self._make = make
        self._env: gymnasium.Env[Any, Any] | None = None
        self._drawer: Drawer | None = None

    @property
    def fps(self) -> float:
        """Frames a second at which the world is meant to be seen."""
        return self._made().fps

    def draw(self, state: int, action: int | None) -> NDArray[Any]:
        """Return the picture of a state.

        Args:
            state: its number.
            action: what led to it; None: the reset.

        Raises:
            NotDrawable: there is none.
        """
        drawer = self._made()
        inner: Any = self._env.unwrapped  # type: ignore[union-attr] # made with the drawer
        # `s` and `lastaction` of Gymnasium's toy text
        inner.s, inner.lastaction = state, action
        return drawer.draw()

    def close(self) -> None:
        """Close the environment."""
        if self._env is not None:
            self._env.close()

    def _made(self) -> Drawer:
        if self._drawer is None:
            self._env = self._make()
            self._env.reset()
            self._drawer = Drawer(self._env)
        return self._drawer


class TableClips:
    """Clips of the episodes of one agent in a tabular world.

    Args:
        telemetry: of the run.
        env: number of the sub-environment.
        every: distance between two episodes with a clip.
        make: makes the environment that is drawn.
    """

    def __init__(
        self,
        telemetry: Telemetry,
        env: int,
        every: int,
        make: Callable[[], gymnasium.Env[Any, Any]],
    ) -> None:
        self._clips = ClipSeries(telemetry, env, every)
        self._drawer = TableDrawer(make)

    def wants(self, episode: int) -> bool:
        """Whether an episode is to have a clip."""
        return self._clips.wants(episode)

    def begin(self, episode: int, step: int, state: int) -> None:
        """Begin an episode.

        Args:
            episode: its number.
            step: environment steps of the run so far.
            state: number of the first state.
        """
        self._clips.begin(episode, step, self._drawer.fps)
        self._clips.add(lambda: self._drawer.draw(state, None))

    def step(self, action: int, state: int) -> None:
        """Add a step of the episode, with the state that it led to."""
        self._clips.add(lambda: self._drawer.draw(state, action))

    def end(self) -> None:
        """End the clip of the episode."""
        self._clips.end()

    def close(self) -> None:
        """Complete and announce all clips."""
        self._clips.close()
        self._drawer.close()


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
        self._drawer = TableDrawer(make)
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
            picture = plain_picture(self._drawer.draw(state, action))
            add_picture(frame, self._encoder, picture)
        except NotDrawable as error:
            frame.problem = str(error)
        self._channel.send(encode_frame(frame))
        budget.drawn(wanted)

    def close(self) -> None:
        """Show nothing more."""
        self._channel.close()
        self._drawer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _on_watch(self, wanted: Sequence[WatchedEnv]) -> None:
        """Called in the channel's thread."""
        self.wanted = {each.env: each for each in wanted}
