"""The verb `replay` of a worker whose environments are Gymnasium's."""

import resource
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from typing import Any

import gymnasium

from mosaic_contracts.frames import WatchedEnv
from mosaic_contracts.replays import REPLAY_FILE, REPLAY_RESULT, ReplayResult
from mosaic_gymkit.drawing import Drawer
from mosaic_gymkit.replay.comparison import compare_episode, package_differences, way_of
from mosaic_gymkit.replay.drawing import FrameDrawer, serve_frames
from mosaic_gymkit.replay.rebuilding import RebuiltEpisode, RebuiltMoment
from mosaic_gymkit.replay.record import RecordInvalid, ReplayRecord, read_record
from mosaic_gymkit.replay.series import EpisodeSeries
from mosaic_gymkit.resets import ResetInvalid
from mosaic_gymkit.specs import EnvironmentSpec
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.errors import EnvironmentUnusable, RunRefused
from mosaic_workerkit.frame_channel import FrameChannel

_LOOK_STEPS = 64
"""Steps between two looks at the stop flag."""


class _Stopped(Exception):
    """The replay was stopped while it rebuilt."""


def replay_run(
    context: TrainContext,
    make: Callable[[EnvironmentSpec], gymnasium.Env[Any, Any]] | None = None,
) -> None:
    """Rebuild the episode that the run's spec names, record how it compares, and draw it on request.

    Several episodes are rebuilt and compared one after the other. They are recorded with their observations, if the
    spec asks for that.

    Args:
        context: of the worker's `replay`.
        make: makes the environment of a spec; None: as `EnvironmentSpec.make` does.

    Raises:
        RunRefused: the spec names no episode, or its record cannot be read.
    """
    source = context.spec.replay
    if source is None:
        raise RunRefused("A run of kind replay needs the field `replay`: the episode to rebuild.")
    _limit_memory(context.spec.memory_mb)
    try:
        record = read_record(context.run_dir / REPLAY_FILE)
    except (RecordInvalid, OSError) as error:
        raise RunRefused(f"The record of the episode cannot be read: {error}") from error
    with FrameChannel(context.run_dir, _ignore) as channel:
        _Replay(context, record, make).run(channel)


class _Replay:
    def __init__(
        self,
        context: TrainContext,
        record: ReplayRecord,
        make: Callable[[EnvironmentSpec], gymnasium.Env[Any, Any]] | None,
    ) -> None:
        assert context.spec.replay is not None  # noqa: S101 - replay_run looked
        self._context = context
        self._source = context.spec.replay
        self._record = record
        self._make_of = make
        self._done = 0
        self._total = sum(len(episode.steps) for episode in record.episodes)

    def run(self, channel: FrameChannel) -> None:
        telemetry, config = self._context.telemetry, dict(self._record.config)
        telemetry.config({**config, "replay": self._source.model_dump(), "tensorboard": None})
        telemetry.progress(0, self._total)
        try:
            if self._source.from_episode is not None or self._source.observations:
                self._rebuild_series()
            else:
                self._rebuild(channel)
        except (EnvironmentUnusable, ResetInvalid) as error:
            self._report(self._failure(str(error)))
        except _Stopped:
            return

    def _rebuild_series(self) -> None:
        telemetry = self._context.telemetry
        series = EpisodeSeries(self._record, self._source, self._make, self._count)
        for result in series.record_into(telemetry):
            telemetry.extra(REPLAY_RESULT, result.model_dump(mode="json"))
        telemetry.progress(self._total, self._total)

    def _rebuild(self, channel: FrameChannel) -> None:
        record, has_earlier = self._record, len(self._record.episodes) > 1
        with closing(RebuiltEpisode(self._make, record.alone)) as alone:
            if self._compare(alone, record.alone, channel, is_last=not has_earlier):
                return
        # The simulator carried something over: repeat all that the environment did before.
        with closing(RebuiltEpisode(self._make, record, self._count)) as chained:
            self._compare(chained, record, channel, is_last=True)

    def _compare(
        self, rebuilt: RebuiltEpisode, record: ReplayRecord, channel: FrameChannel, *, is_last: bool
    ) -> bool:
        """Compare, and unless it differs and another way is left, report and draw. Returns whether it was reported."""
        drawer = None
        if self._source.draws:
            drawer = FrameDrawer(rebuilt, self._context.telemetry.run_id)
        problem = drawer.find_problem() if drawer is not None else ""
        # Going back in a chain means to rebuild every episode before: draw while the episode passes.
        draws_now = drawer if len(record.episodes) > 1 and not problem else None

        def on_step(moment: RebuiltMoment) -> None:
            if drawer is not None and drawer.first_difference is None and moment.difference:
                drawer.first_difference = moment.step
            if draws_now is not None:
                draws_now.keep(moment)
            self._count()

        result = compare_episode(
            rebuilt, record, self._source, on_step, stops_at_difference=not is_last
        )
        if not is_last and not result.is_verified:
            return False
        self._report(
            result.model_copy(
                update={
                    "can_draw": drawer is not None and not problem,
                    "drawing_problem": problem,
                    "fps": Drawer(rebuilt.env).fps if drawer is None else drawer.fps,
                }
            )
        )
        if drawer is not None:
            serve_frames(drawer, channel, self._context.stop)
        return True

    def _make(self) -> gymnasium.Env[Any, Any]:
        spec = EnvironmentSpec.from_config(self._record.config)
        return spec.make(is_checked=False) if self._make_of is None else self._make_of(spec)

    def _count(self) -> None:
        self._done += 1
        if self._done % _LOOK_STEPS == 0:
            self._context.telemetry.progress(min(self._done, self._total), self._total)
            if self._context.stop.requested:
                raise _Stopped

    def _failure(self, problem: str) -> ReplayResult:
        episode = self._record.episodes[-1]
        return ReplayResult(
            source=self._source,
            way=way_of(self._record),
            steps=len(episode.steps),
            equal=0,
            packages=package_differences(self._record.config),
            is_cut=episode.is_cut,
            problem=problem,
            can_draw=False,
        )

    def _report(self, result: ReplayResult) -> None:
        telemetry = self._context.telemetry
        telemetry.progress(self._total, self._total)
        telemetry.extra(REPLAY_RESULT, result.model_dump(mode="json"))


def _ignore(_wanted: Sequence[WatchedEnv]) -> None:
    """A replay has no live frames."""


def _limit_memory(memory_mb: int | None) -> None:
    """Hold this process to the run's memory: outside of a container nothing else does."""
    if memory_mb is not None:
        size = memory_mb * 2**20
        with suppress(ValueError, OSError):  # a stricter limit is set already
            resource.setrlimit(resource.RLIMIT_DATA, (size, size))
