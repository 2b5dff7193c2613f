"""Episodes that replays rebuild: which replays are asked for, and which episodes are kept."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import gymnasium
import pytest
from tests.doubles import RUN_ID, recording
from tests.test_dataset import CARTPOLE, CONFIG, Played, play, records_of

from mosaic_client import Client
from mosaic_contracts.exports import DatasetReport, EpisodeId, EpisodeRange, ExportProgress
from mosaic_contracts.live import Ended, Events
from mosaic_contracts.replays import REPLAY_RESULT, ReplayResult, ReplaySource, StepDifference
from mosaic_contracts.runs import EpisodeRow
from mosaic_exporter.episodes import RecordedEpisode, Selection
from mosaic_exporter.errors import ExportProblem
from mosaic_exporter.rebuilt import RebuiltEpisodes

REPLAY_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAW"


class ReplayingStack:
    """A client of a stack that has rebuilt these episodes; of some a step differs."""

    def __init__(self, episodes: list[Played], differs: set[int]) -> None:
        self.episodes = episodes
        self.differs = differs
        self.asked: list[dict[str, Any]] = []
        self.batches = recording(records_of(episodes), CARTPOLE, CONFIG).batches

    def each_episode(self, _run_id: str) -> Iterator[EpisodeRow]:
        """The list of episodes, the last one without an end."""
        for number, episode in enumerate(self.episodes):
            yield EpisodeRow(
                attempt=1, env=0, episode=number, length=len(episode), recorded_steps=len(episode)
            )
        yield EpisodeRow(attempt=1, env=0, episode=len(self.episodes), recorded_steps=3)

    def replay(self, _run_id: str, last: int, **asked: Any) -> Any:
        """A replay that has begun."""
        self.asked.append({"last": last, **asked})
        return SimpleNamespace(run_id=REPLAY_ID, is_new=True)

    def follow(self, _run_id: str, types: list[str]) -> Iterator[Any]:
        """A result for each episode, and the end."""
        events = []
        for number, episode in enumerate(self.episodes):
            source = ReplaySource(run_id=RUN_ID, attempt=1, env=0, episode=number, draws=False)
            difference = StepDifference(step=2, parts=["observation"])
            result = ReplayResult(
                source=source,
                way="generator",
                steps=len(episode),
                equal=1 if number in self.differs else len(episode),
                first_difference=difference if number in self.differs else None,
            )
            events.append({"type": REPLAY_RESULT, "data": result.model_dump(mode="json")})
        yield Events.model_construct(run_id=REPLAY_ID, events=events, cursor="")
        yield Ended.model_construct(run_id=REPLAY_ID, cursor="")


def rebuilt(
    differs: set[int], ranges: list[EpisodeRange], *, allow: bool = False
) -> tuple[list[RecordedEpisode], DatasetReport, ReplayingStack]:
    """Rebuild chosen ones of five episodes."""
    with gymnasium.make("CartPole-v1") as env:
        stack = ReplayingStack([play(env, seed) for seed in range(5)], differs)
    report = DatasetReport(name="a-v0")
    said: list[ExportProgress] = []
    client, selection = cast(Client, stack), Selection(ranges)
    episodes = RebuiltEpisodes(
        client, RUN_ID, selection, said.append, report, allow_unverified=allow
    )
    return list(episodes.read()), report, stack


def numbers(episodes: list[RecordedEpisode]) -> list[int]:
    return [episode.key.episode for episode in episodes]


def test_one_replay_rebuilds_all_wanted_episodes_of_an_environment() -> None:
    """Unwanted ones between them are not kept, and one without an end is left out."""
    ranges = [EpisodeRange(first=1, last=1), EpisodeRange(first=3, last=9)]
    episodes, report, stack = rebuilt(set(), ranges)
    assert numbers(episodes) == [1, 3, 4]
    assert report.left_out == [EpisodeId(1, 0, 5)]
    assert stack.asked == [
        {"last": 4, "env": 0, "attempt": 1, "draws": False, "from_episode": 1, "observations": True}
    ]


def test_an_episode_that_differs_is_left_out_or_kept() -> None:
    """It is named in the report in both cases."""
    episodes, report, _ = rebuilt({2}, [])
    assert numbers(episodes) == [0, 1, 3, 4]
    assert report.unverified == [EpisodeId(1, 0, 2)]
    episodes, report, _ = rebuilt({2}, [], allow=True)
    assert numbers(episodes) == [0, 1, 2, 3, 4]
    assert report.unverified == [EpisodeId(1, 0, 2)]


def test_no_verified_episode_is_a_problem_with_what_to_do() -> None:
    """It names the first step that differs, and both ways out."""
    with pytest.raises(
        ExportProblem, match=r"episode 0 differs at step 2 \(observation\)"
    ) as caught:
        rebuilt({0, 1, 2, 3, 4}, [])
    assert "--allow-unverified" in str(caught.value)
    assert "--record full" in str(caught.value)
