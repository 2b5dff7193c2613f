"""The verb `replay` of a worker whose environments are Gymnasium's."""

import resource
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import gymnasium

from mosaic_contracts.frames import WatchedEnv
from mosaic_contracts.replays import REPLAY_FILE, REPLAY_RESULT, ReplayResult, ResetWay
from mosaic_gymkit.replay.comparison import compare_episode, package_differences
from mosaic_gymkit.replay.drawing import FrameDrawer, serve_frames
from mosaic_gymkit.replay.rebuilding import RebuiltEpisode, RebuiltMoment
from mosaic_gymkit.replay.record import ReplayRecord, RecordInvalid, read_record
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
            rebuilt = RebuiltEpisode(self._make, self._record, self._count)
        except (EnvironmentUnusable, ResetInvalid) as error:
            self._report(self._failure(str(error)))
            return
        except _Stopped:
            return
        try:
            drawer = FrameDrawer(rebuilt, telemetry.run_id) if self._source.draws else None
            result = self._compare(rebuilt, drawer)
            self._report(result)
            if drawer is not None:
                serve_frames(drawer, channel, self._context.stop)
        except _Stopped:
            return
        finally:
            rebuilt.close()

    def _compare(self, rebuilt: RebuiltEpisode, drawer: FrameDrawer | None) -> ReplayResult:
        is_chained = self._record.episodes[-1].reset.get("way") == ResetWay.CHAIN.value
        problem = drawer.find_problem() if drawer is not None else ""
        draws_now = drawer if is_chained and not problem else None

        def on_step(moment: RebuiltMoment) -> None:
            if drawer is not None and drawer.first_difference is None and moment.difference:
                drawer.first_difference = moment.step
            if draws_now is not None:
                # Going back means to rebuild every episode before: draw while the episode passes.
                draws_now.keep(moment)
            self._count()

        result = compare_episode(rebuilt, self._record, self._source, on_step)
        return result.model_copy(
            update={"can_draw": drawer is not None and not problem, "drawing_problem": problem}
        )

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
            way=str(episode.reset.get("way", "")),
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
