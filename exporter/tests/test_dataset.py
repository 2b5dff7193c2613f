"""Minari datasets: what was recorded is what is loaded, and half a dataset never appears."""

from pathlib import Path
from typing import Any

import gymnasium
import minari
import numpy as np
import pytest
from tests.doubles import RUN_ID, recording

from mosaic_client import Client
from mosaic_contracts.exports import (
    DatasetExport,
    DatasetReport,
    EpisodeId,
    EpisodeRange,
    ExportProgress,
    dataset_name,
)
from mosaic_contracts.wire import EpisodeStart, Step
from mosaic_exporter.dataset import make_dataset
from mosaic_exporter.errors import ExportProblem

EVERYTHING: list[EpisodeRange] = []
CARTPOLE = {
    "observation": {"kind": "box", "dtype": "<f4", "shape": [4]},
    "action": {"kind": "discrete", "n": 2},
}
CONFIG = {"environment": "CartPole-v1", "packages": {"gymnasium": gymnasium.__version__}}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where Minari keeps its datasets."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    return tmp_path / "datasets"


class Played(list[tuple[Any, Any, float, bool, bool]]):
    """One episode as a script saw it."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.first: Any = None
        self.seed = seed


def play(env: gymnasium.Env[Any, Any], seed: int) -> Played:
    episode = Played(seed)
    episode.first, _ = env.reset(seed=seed)
    env.action_space.seed(seed)
    over = False
    while not over:
        action = env.action_space.sample()
        observation, reward, terminated, truncated, _ = env.step(action)
        episode.append((action, observation, float(reward), terminated, truncated))
        over = terminated or truncated
    return episode


def records_of(episodes: list[Played], *, cut_at: int | None = None, env: int = 0) -> list[Any]:
    """The records of these episodes; the last one ends before its end where `cut_at` is given."""
    records: list[Any] = []

    def add(record: Any) -> None:
        record.seq = len(records) + 1
        records.append(record)

    for number, episode in enumerate(episodes):
        reset = {"way": "seed", "seed": episode.seed}
        add(EpisodeStart(0, 0, env, number, reset, b"12345678", episode.first.tobytes()))
        for step, (action, observation, reward, terminated, truncated) in enumerate(episode, 1):
            flags = int(terminated) + 2 * int(truncated)
            seen = observation.tobytes()
            add(Step(0, 0, env, number, step, int(action), reward, flags, b"12345678", 0, seen))
    return records[:cut_at]


def silent(_progress: ExportProgress) -> None:
    pass


def write_dataset(client: Client, name: str, ranges: list[EpisodeRange]) -> DatasetReport:
    return make_dataset(client, DatasetExport(run_id=RUN_ID, name=name, ranges=ranges), silent)


@pytest.mark.parametrize("count", [5, 600])
def test_a_dataset_holds_the_episodes_as_they_were(folder: Path, count: int) -> None:
    """Loaded by Minari, every observation, action, reward and end is equal, and the environment can be made again."""
    with gymnasium.make("CartPole-v1") as env:
        episodes = [play(env, seed) for seed in range(count)]
    client = recording(records_of(episodes), CARTPOLE, CONFIG)
    report = write_dataset(client, "cartpole/random", EVERYTHING)
    assert (report.name, report.episodes) == ("cartpole/random-v0", count)
    assert (report.steps, report.left_out) == (sum(map(len, episodes)), [])
    dataset = minari.load_dataset("cartpole/random-v0")
    for played, loaded in zip(episodes, dataset.iterate_episodes(), strict=True):
        assert np.array_equal(loaded.observations[0], played.first)
        assert np.array_equal(loaded.observations[1:], [step[1] for step in played])
        assert np.array_equal(loaded.actions, [step[0] for step in played])
        assert np.array_equal(loaded.rewards, [step[2] for step in played])
        assert (loaded.terminations[-1], loaded.truncations[-1]) == played[-1][3:]
    assert dataset.recover_environment().spec.id == "CartPole-v1"
    assert dataset.storage.metadata["requirements"] == [f"gymnasium=={gymnasium.__version__}"]
    assert [path.name for path in (folder / "cartpole").iterdir() if path.is_dir()] == ["random-v0"]


def test_episodes_are_chosen_and_cut_ones_left_out() -> None:
    """Ranges of numbers, one sub-environment; an episode without an end is named."""
    with gymnasium.make("CartPole-v1") as env:
        episodes = [play(env, seed) for seed in range(4)]
    client = recording(records_of(episodes, cut_at=-3), CARTPOLE, CONFIG)
    chosen = [EpisodeRange(first=1, last=1, env=0), EpisodeRange(first=3, last=9, env=0)]
    report = write_dataset(client, "some-v3", chosen)
    assert (report.episodes, report.steps) == (1, len(episodes[1]))
    assert report.left_out == [EpisodeId(1, 0, 3)]
    with pytest.raises(ExportProblem, match="None of these episodes"):
        write_dataset(client, "others", [EpisodeRange(first=0, last=9, env=5)])


def test_images_are_kept_without_loss() -> None:
    """Minari would make JPEGs of them."""
    rng = np.random.default_rng(1)
    episode = Played(1)
    episode.first = rng.integers(0, 256, (40, 40, 3), np.uint8)
    for step in range(3):
        seen = rng.integers(0, 256, (40, 40, 3), np.uint8)
        episode.append((step % 2, seen, 0.5, step == 2, False))
    image = {"kind": "box", "dtype": "|u1", "shape": [40, 40, 3]}
    client = recording(
        records_of([episode]), CARTPOLE | {"observation": image}, {"environment": "x"}
    )
    report = write_dataset(client, "images", EVERYTHING)
    assert not report.has_environment
    loaded = minari.load_dataset("images-v0")[0]
    assert np.array_equal(loaded.observations[1:], [step[1] for step in episode])


def test_a_space_of_parts_is_a_dict_of_arrays() -> None:
    """Observations by key, actions of a box."""
    spaces = {
        "observation": {
            "kind": "dict",
            "spaces": {
                "goal": {"kind": "discrete", "n": 3, "start": 1},
                "view": {"kind": "box", "dtype": "<f8", "shape": [2]},
            },
        },
        "action": {"kind": "box", "dtype": "<f4", "shape": [1]},
    }

    def seen(number: int) -> dict[str, Any]:
        return {"goal": 1 + number % 3, "view": np.full(2, number, "<f8").tobytes()}

    records: list[Any] = [EpisodeStart(1, 0, 0, 0, {"way": "generator"}, b"12345678", seen(0))]
    for step in (1, 2):
        action = np.full(1, step, "<f4").tobytes()
        flags = 2 * (step == 2)
        records.append(
            Step(step + 1, 0, 0, 0, step, action, 1.0, flags, b"12345678", 0, seen(step))
        )
    write_dataset(recording(records, spaces, {}), "parts", EVERYTHING)
    loaded = minari.load_dataset("parts-v0")[0]
    assert loaded.observations["goal"].tolist() == [1, 2, 3]
    assert loaded.observations["view"][:, 0].tolist() == [0, 1, 2]
    assert loaded.actions.tolist() == [[1], [2]]
    assert loaded.truncations.tolist() == [False, True]


def test_what_minari_cannot_hold_is_said_and_leaves_nothing(folder: Path) -> None:
    """No observations, a space of another kind, a name that exists or is none."""
    with gymnasium.make("CartPole-v1") as env:
        episodes = [play(env, 1)]
    records = records_of(episodes)
    other = CARTPOLE | {"observation": {"kind": "other", "repr": "Graph(...)"}}
    with pytest.raises(ExportProblem, match=r"space Graph"):
        write_dataset(recording(records, other, CONFIG), "a", EVERYTHING)
    wrong = CARTPOLE | {"observation": {"kind": "box", "dtype": "<f4", "shape": [5]}}
    with pytest.raises(ExportProblem, match="does not fit"):
        write_dataset(recording(records, wrong, CONFIG), "a", EVERYTHING)
    client = recording(records, CARTPOLE, CONFIG)
    with pytest.raises(ExportProblem, match="is no name"):
        write_dataset(client, "../a", EVERYTHING)
    write_dataset(client, "a", EVERYTHING)
    with pytest.raises(ExportProblem, match="a-v0 exists"):
        write_dataset(client, "a-v0", EVERYTHING)
    for record in records:
        record.observation = None
    with pytest.raises(ExportProblem, match="too large for an event"):
        write_dataset(recording(records, CARTPOLE, CONFIG), "b", EVERYTHING)
    with pytest.raises(ExportProblem, match="keeps no steps"):
        write_dataset(recording(records, CARTPOLE, CONFIG, level="episodes"), "b", EVERYTHING)
    assert [path.name for path in folder.iterdir()] == ["a-v0"]


def test_a_name_without_a_version_gets_one() -> None:
    """As Minari wants it."""
    assert dataset_name("me/cart-pole") == "me/cart-pole-v0"
    with pytest.raises(ValueError, match="is no name"):
        dataset_name("a b")
    assert dataset_name("cart-v12") == "cart-v12"
