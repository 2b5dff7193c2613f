"""Rebuilds several episodes, each compared with its record, and records their steps with the observations."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import gymnasium

from mosaic_contracts.replays import ReplayResult, ReplaySource, ResetWay
from mosaic_contracts.wire import StepFlag
from mosaic_gymkit.replay.comparison import compare_episode, way_of
from mosaic_gymkit.replay.rebuilding import RebuiltEpisode, RebuiltMoment
from mosaic_gymkit.replay.record import EpisodeLines, ReplayRecord
from mosaic_gymkit.values import action_of
from mosaic_workerkit.telemetry import Telemetry

_Make = Callable[[], gymnasium.Env[Any, Any]]


class EpisodeSeries:
    """The episodes of one replay, in order.

    An episode whose reset needs no other one is rebuilt in a fresh environment. The episodes of a chain are rebuilt in
    one environment.

    Args:
        record: what was recorded.
        source: names the episodes.
        make: makes a fresh environment like the recorded one.
        on_step: called after each rebuilt step and reset.
    """

    def __init__(
        self, record: ReplayRecord, source: ReplaySource, make: _Make, on_step: Callable[[], None]
    ) -> None:
        self._record = record
        self._source = source
        self._make = make
        self._on_step = on_step
        first = source.episode if source.from_episode is None else source.from_episode
        self._first = first

    def record_into(self, telemetry: Telemetry) -> Iterator[ReplayResult]:
        """Rebuild all episodes.

        Args:
            telemetry: records each episode that the source names.

        Yields:
            The result of each, after its last step was recorded.

        Raises:
            EnvironmentUnusable, ResetInvalid: the environment cannot be made, or an episode cannot begin.
        """
        if way_of(self._record) != ResetWay.CHAIN.value:
            for episode in self._record.episodes:
                with closing(self._make()) as env:
                    yield self._rebuild(episode, env, telemetry)
            return
        with closing(self._make()) as env:
            for place, episode in enumerate(self._record.episodes):
                result = self._rebuild(episode, env, telemetry)
                if episode.episode >= self._first:
                    way = ResetWay.CHAIN.value
                    yield result.model_copy(update={"way": way, "episodes_before": place})

    def _rebuild(
        self, episode: EpisodeLines, env: gymnasium.Env[Any, Any], telemetry: Telemetry
    ) -> ReplayResult:
        is_wanted = episode.episode >= self._first
        part = ReplayRecord(self._record.config, [episode])
        rebuilt = RebuiltEpisode(lambda: env, part)

        def on_step(moment: RebuiltMoment) -> None:
            if is_wanted and self._source.observations:
                _record_moment(telemetry, episode, moment, env)
            self._on_step()

        named = {"episode": episode.episode, "from_episode": None}
        source = self._source.model_copy(update=named)
        return compare_episode(rebuilt, part, source, on_step)


def _record_moment(
    telemetry: Telemetry,
    episode: EpisodeLines,
    moment: RebuiltMoment,
    env: gymnasium.Env[Any, Any],
) -> None:
    if not moment.step:
        telemetry.episode_start(
            episode.env, episode.episode, episode.reset, observation=moment.observation
        )
        return
    recorded = episode.steps[moment.step - 1]
    telemetry.step(
        episode.env,
        episode.episode,
        moment.step,
        action_of(env.action_space, recorded.action),
        moment.reward,
        actor=recorded.actor,
        observation=moment.observation,
        terminated=bool(moment.flags & StepFlag.TERMINATED),
        truncated=bool(moment.flags & StepFlag.TRUNCATED),
    )
