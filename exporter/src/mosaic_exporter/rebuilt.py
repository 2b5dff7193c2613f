"""Whole episodes with observations of a run that recorded none: replays rebuild them, step by step."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from mosaic_client import Client, StartedReplay
from mosaic_client.replay_session import replay_progress, stop_replay
from mosaic_contracts.exports import (
    DatasetReport,
    EpisodeId,
    ExportPhase,
    ExportProgress,
)
from mosaic_contracts.live import Ended, Events, RunChanged, Snapshot
from mosaic_contracts.replays import REPLAY_RESULT, ReplayResult
from mosaic_contracts.runs import EpisodeRow
from mosaic_exporter.episodes import RecordedEpisode, Selection, whole_episodes
from mosaic_exporter.errors import ExportProblem
from mosaic_exporter.talk import Progress

_AT_ONCE = 2
"""Replays that run at once. A stack runs four, and somebody may look at one meanwhile."""
_MOST_STEPS = 200_000
"""Recorded steps of one replay, if resets need no earlier episodes."""
_MOST_UNWANTED = 5_000
"""Recorded steps of unwanted episodes between two wanted ones; another replay begins behind more."""


@dataclass
class EpisodeGroup:
    """Episodes of one sub-environment that one replay rebuilds."""

    attempt: int
    env: int
    first: int
    last: int
    steps: int


class RebuiltEpisodes:
    """The wanted episodes of one run, rebuilt.

    Args:
        client: of the stack that has the run.
        run_id: id of the run.
        selection: which episodes.
        progress: called with the number of rebuilt steps.
        report: gets the episodes that are left out, and those that differ from the record.
        allow_unverified: whether episodes are kept that differ from the record.
    """

    def __init__(
        self,
        client: Client,
        run_id: str,
        selection: Selection,
        progress: Progress,
        report: DatasetReport,
        *,
        allow_unverified: bool,
    ) -> None:
        self._client = client
        self._run_id = run_id
        self._selection = selection
        self._progress = progress
        self._report = report
        self._allow_unverified = allow_unverified
        self._wanted: set[EpisodeId] = set()
        self._done = self._total = 0
        self._problem = ""

    def read(self) -> Iterator[RecordedEpisode]:
        """Rebuild the episodes. Replays are stopped if the iterator is closed early.

        Yields:
            Episodes with every step and an observation more than steps.

        Raises:
            ExportProblem: none of them can be rebuilt.
            ClientError: the stack refuses a replay, or does not answer.
        """
        waiting = deque(self._groups())
        self._total = sum(group.steps for group in waiting)
        started: deque[tuple[EpisodeGroup, StartedReplay]] = deque()
        count = 0
        try:
            while waiting or started:
                while waiting and len(started) < _AT_ONCE:
                    group = waiting.popleft()
                    started.append((group, self._start(group)))
                for episode in self._rebuilt(*started[0]):
                    count += 1
                    yield episode
                started.popleft()
        finally:
            for _, replay in started:
                stop_replay(self._client, replay)
        if not count and self._problem:
            raise ExportProblem(self._problem)

    def _start(self, group: EpisodeGroup) -> StartedReplay:
        return self._client.replay(
            self._run_id,
            group.last,
            env=group.env,
            attempt=group.attempt,
            draws=False,
            from_episode=group.first,
            observations=True,
        )

    def _rebuilt(self, group: EpisodeGroup, replay: StartedReplay) -> Iterator[RecordedEpisode]:
        results = self._results(replay)
        self._done += group.steps
        found: set[EpisodeId] = set()
        episodes = whole_episodes(
            self._client, replay.run_id, Selection([]), lambda _: None, self._report.left_out
        )
        for episode in episodes:
            key = EpisodeId(group.attempt, group.env, episode.key.episode)
            if key not in self._wanted:
                continue
            episode.key = key
            found.add(key)
            result = results.get(key.episode)
            if result is None or not result.is_verified:
                self._report.unverified.append(key)
                if not self._allow_unverified:
                    self._note(result)
                    continue
            yield episode
        self._report.left_out += sorted(key for key in self._wanted - found if _is_of(key, group))

    def _results(self, replay: StartedReplay) -> dict[int, ReplayResult]:
        """Wait for the replay's end; results by episode."""
        results: dict[int, ReplayResult] = {}
        run = None
        for item in self._client.follow(replay.run_id, types=[REPLAY_RESULT]):
            if isinstance(item, Events):
                for event in item.events:
                    if event["type"] == REPLAY_RESULT:
                        result = ReplayResult.model_validate(event["data"])
                        results[result.source.episode] = result
                        self._problem = self._problem or result.problem
            elif isinstance(item, Snapshot | RunChanged):
                run = item.run
                self._say(replay_progress(run))
            elif isinstance(item, Ended):
                break
        if not results and run is not None and run.end is not None:
            self._problem = self._problem or run.end.message
        return results

    def _note(self, result: ReplayResult | None) -> None:
        if result is None or result.first_difference is None:
            return
        differs = result.first_difference
        packages = ", ".join(
            f"{one.package} {one.installed or 'not installed'} (recorded {one.recorded})"
            for one in result.packages
        )
        versions = f" Versions differ: {packages}." if packages else ""
        self._problem = self._problem or (
            f"No rebuilt episode is as recorded: episode {result.source.episode} differs at step {differs.step} "
            f"({', '.join(differs.parts)}).{versions} --allow-unverified keeps such episodes, and `./mosaic clone RUN "
            "--record full` records observations."
        )

    def _say(self, progress: ExportProgress) -> None:
        if progress.phase is ExportPhase.REBUILDING:
            progress.done, progress.total = self._done + progress.done, self._total
        self._progress(progress)

    def _groups(self) -> list[EpisodeGroup]:
        groups: list[EpisodeGroup] = []
        newest: dict[tuple[int, int], EpisodeGroup] = {}
        between: dict[tuple[int, int], int] = {}
        """Steps of unwanted episodes since the last wanted one."""
        for row in self._client.each_episode(self._run_id):
            place, key = (row.attempt, row.env), EpisodeId(row.attempt, row.env, row.episode)
            if not self._selection.has(key):
                between[place] = between.get(place, 0) + row.recorded_steps
                continue
            if not _is_whole(row):
                self._report.left_out.append(key)
                continue
            self._wanted.add(key)
            group, unwanted = newest.get(place), between.pop(place, 0)
            if group is None or group.steps > _MOST_STEPS or unwanted > _MOST_UNWANTED:
                group = EpisodeGroup(*place, first=row.episode, last=row.episode, steps=0)
                newest[place] = group
                groups.append(group)
            group.last = row.episode
            group.steps += unwanted + row.recorded_steps
        return groups


def _is_whole(row: EpisodeRow) -> bool:
    """Whether the episode has an end and every step of it was recorded."""
    return row.length is not None and row.recorded_steps == row.length > 0


def _is_of(key: EpisodeId, group: EpisodeGroup) -> bool:
    return key[:2] == (group.attempt, group.env) and group.first <= key.episode <= group.last
