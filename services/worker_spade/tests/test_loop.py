"""The learning loop: the same numbers as the environment itself, whatever is recorded and however it is cut."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.learners import SilentRecorder, fresh, learn
from tests.run_folder import run

from mosaic_worker_spade.errors import CheckpointUnusable
from mosaic_worker_spade.learning import checkpoint as checkpoints
from mosaic_worker_spade.learning.archive import pack
from mosaic_worker_spade.learning.choice import RunOption
from mosaic_worker_spade.learning.compiled import CompiledLoop
from mosaic_worker_spade.learning.draws import Draws
from mosaic_worker_spade.learning.learner import Learner
from mosaic_worker_spade.learning.loop import Option, OptionOutcome, run_option
from mosaic_worker_spade.learning.reference import run_reference
from mosaic_worker_spade.learning.schedule import Rates
from mosaic_worker_spade.learning.stepper import Stepper
from mosaic_worker_spade.learning.surprise import NoWatch, SurpriseWatch

WORLDS: list[tuple[str, dict[str, Any]]] = [
    ("FrozenLake-v1", {"slippery": False}),
    ("FrozenLake-v1", {"slippery": True}),
    ("FrozenLake-v1", {"map": "SFF/FHF/FFG"}),
    ("FrozenLake8x8-v1", {}),
    ("CliffWalking-v1", {}),
    ("CliffWalkingSlippery-v1", {}),
    ("Taxi-v3", {}),
]


@pytest.mark.parametrize(("name", "wish"), WORLDS)
def test_loop_is_bit_equal_to_the_environment(name: str, wish: dict[str, Any]) -> None:
    """On the table, values, visits, episodes and generators are those of a loop over `env.step`, bit for bit."""
    reference, ours, silence = fresh(name, **wish), fresh(name, **wish), SilentRecorder()
    episodes = run_reference(reference, 3, 6_000)
    learn(ours, 6_000, silence)
    assert ours.q == reference.q
    assert ours.visits == reference.visits
    assert silence.lengths == episodes
    assert ours.choice_draws.state() == reference.choice_draws.state()
    assert len(episodes) > 20


@pytest.mark.parametrize(("name", "wish"), WORLDS)
def test_compiled_loop_is_bit_equal_to_the_environment(name: str, wish: dict[str, Any]) -> None:
    """In machine code too: values, visits, episodes and generators are those of `env.step`, and of the list loop."""
    reference, listed, ours, silence = *(fresh(name, **wish) for _ in range(3)), SilentRecorder()
    episodes = run_reference(reference, 3, 6_000)
    learn(listed, 6_000)
    learn(ours, 6_000, silence, run=CompiledLoop(ours.world))
    assert ours.q == reference.q
    assert ours.visits == reference.visits
    assert silence.lengths == episodes
    assert ours.epsilon == reference.epsilon
    assert ours.choice_draws.state() == reference.choice_draws.state()
    assert ours.world_draws.state() == listed.world_draws.state()
    assert (ours.counts, ours.recent) == (listed.counts, listed.recent)
    assert (ours.ends, ours.goals) == (listed.ends, listed.goals)


class Moody(SilentRecorder):
    """Wants the steps of some episodes, and as a watch ends an option now and then; keeps all reports."""

    def __init__(self) -> None:
        super().__init__()
        self.reported: list[Any] = []

    def wants_steps(self, episode: int) -> bool:
        return episode % 7 in (0, 3, 4)

    def begin(self, _learner: Learner, *reported: Any) -> None:
        self.reported.append(reported)

    def step(self, *reported: Any) -> None:
        self.reported.append(reported)

    def end(self, learner: Learner, *reported: Any) -> None:
        self.reported.append((replace(learner.counts), learner.epsilon, *reported[:-1]))

    def episode_ended(self, learner: Learner, state: int, success: bool) -> str | None:
        self.reported.append((state, success))
        return "mood" if learner.counts.episodes % 11 == 0 else None


@pytest.mark.parametrize("epsilon", [None, 0.2])
def test_compiled_loop_goes_back_to_where_it_should_have_halted(epsilon: float | None) -> None:
    """Episodes recorded in between and options that a watch ends: reported and learned exactly as by the list loop."""
    reported = []
    for compiled in (False, True):
        learner, moody = fresh(slippery=True), Moody()
        go: RunOption = CompiledLoop(learner.world) if compiled else run_option
        outcomes: list[OptionOutcome] = []
        while not outcomes or outcomes[-1].reason != "end":
            outcomes.append(go(learner, Option(500, 8_000, epsilon), moody, moody))
        states = learner.choice_draws.state(), learner.world_draws.state()
        reported.append(
            (learner.q, learner.visits, states, learner.counts, outcomes, moody.reported)
        )
    assert reported[0] == reported[1]
    assert {"mood", "end"} <= {outcome.reason for outcome in reported[1][4]}


def test_a_run_in_the_compiled_loop_tells_the_same(tmp_path: Path) -> None:
    """Two real runs of one seed, asked for either loop: the config says which, and all other events are the same."""
    reported = {}
    for loop in ("list", "compiled"):
        parameters = {"loop": loop, "record_gap": 1_500, "values_every": 1_000}
        done = run(tmp_path / loop, steps=8_000, parameters=parameters)
        assert done.code == 0, done.stderr
        config = done.of_type("config")[0]["data"]
        assert config["loop"] == {"name": loop, "reason": "asked for"}
        reported[loop] = [event for event in done.plain() if event["type"] != "config"]
    assert reported["compiled"] == reported["list"]
    assert sum(event["type"] == "step" for event in reported["list"]) > 20


@pytest.mark.nightly(by_day=["list"])
@pytest.mark.parametrize("loop", ["list", "compiled"])
def test_sampled_run_says_how_many_episodes_were_played(tmp_path: Path, loop: str) -> None:
    """Episodes keep their numbers, and the last one is sent: the run's sample says how many there were."""
    whole = {"loop": loop, "record_gap": 0, "episode_gap": 0}
    sampled = {"loop": loop, "record_gap": 5_000, "episode_gap": 1_000}
    numbers = {}
    for name, parameters in (("whole", whole), ("sampled", sampled)):
        done = run(tmp_path / name, steps=6_000, parameters=parameters, record="episodes")
        assert done.code == 0, done.stderr
        numbers[name] = [event["episode"] for event in done.of_type("episode")]
    played = len(numbers["whole"])
    assert numbers["whole"] == list(range(played))
    assert numbers["sampled"][-1] == played - 1
    assert numbers["sampled"] == sorted(set(numbers["sampled"]))
    assert len(numbers["sampled"]) < played / 4


def test_a_stop_halts_the_compiled_loop() -> None:
    """Asked to stop, it ends the option before anything else is learned."""
    learner, silence = fresh(), SilentRecorder()
    silence.stop_requested = True
    outcome = CompiledLoop(learner.world)(learner, Option(500, 8_000), silence, NoWatch())
    assert (outcome.reason, outcome.steps) == ("stop", 0)


def test_recording_and_options_change_nothing() -> None:
    """Recorded or not, in options of 100 or of 50,000 steps: the same values."""
    plain, recorded = fresh(), fresh()
    learn(plain, 5_000, budget=50_000)
    learn(recorded, 5_000, SilentRecorder(steps=True), budget=100)
    assert plain.q == recorded.q
    assert plain.world_draws.state() == recorded.world_draws.state()


def test_single_steps_are_those_of_the_loop() -> None:
    """A plan that takes every step itself, by epsilon, learns what the loop learns."""
    looped, stepped = fresh(), fresh()
    learn(looped, 3_000)
    stepper = Stepper(stepped, SilentRecorder(), NoWatch(), learns=True)
    for _ in range(3_000):
        stepper.act(stepper.choose(stepper.begin()))
    assert stepped.q == looped.q


def test_state_of_draws_is_exact() -> None:
    """After any number of draws, a generator restored from the state goes on with the very next number."""
    draws = Draws.seeded(5)
    for count in (1, 3, 8_191, 8_192, 20_000):
        draws.reserve(count)
        draws.place += count
        again = Draws.restored(draws.state())
        assert [again.next() for _ in range(5)] == [draws.next() for _ in range(5)]


def test_a_checkpoint_goes_on_as_if_nothing_had_been(tmp_path: Path) -> None:
    """Saved in the middle and restored with the same seed, learning ends with the values of an uninterrupted run."""
    whole, first = fresh(), fresh()
    learn(whole, 2_000)
    # cut at an episode's end, as runs are
    stepper = Stepper(first, SilentRecorder(), NoWatch(), learns=True)
    while first.counts.steps < 1_000 or stepper.state is not None:
        stepper.act(stepper.choose(stepper.begin()))
    checkpoints.save(first, "q_learning", tmp_path / "a.npz")
    again = checkpoints.restore(checkpoints.read(tmp_path / "a.npz"), first.world, Rates(), 3)
    learn(again, 2_000 - again.counts.steps)
    assert again.q == whole.q
    assert again.counts == whole.counts
    assert again.epsilon == whole.epsilon


def test_a_checkpoint_of_another_map_is_refused_with_both_named(tmp_path: Path) -> None:
    """The refusal names the checkpoint's map and the run's, and slipperiness."""
    learner = fresh(slippery=False)
    checkpoints.save(learner, "q_learning", tmp_path / "a.npz")
    read = checkpoints.read(tmp_path / "a.npz")
    with pytest.raises(CheckpointUnusable) as caught:
        read.require_world(fresh(map="SFF/FHF/FFG").world)
    assert "map SFFF/FHFH/FFFH/HFFG, not slippery" in str(caught.value)
    assert "map SFF/FHF/FFG" in str(caught.value)
    with pytest.raises(CheckpointUnusable, match="not slippery"):
        read.require_world(fresh(slippery=True).world)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 half", b"\x80\x04K\x01."])
def test_what_is_no_checkpoint_is_refused(tmp_path: Path, content: bytes) -> None:
    """Whatever lies at the path, also a pickle: a refusal in words, and no code of it is run."""
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    with pytest.raises(CheckpointUnusable):
        checkpoints.read(path)


def _saved(path: Path, **wish: Any) -> Path:
    learner = fresh(**wish)
    learn(learner, 1_000)
    checkpoints.save(learner, "q_learning", path)
    return path


def test_no_flipped_bit_is_read(tmp_path: Path) -> None:
    """A checkpoint with any one bit flipped is refused in one sentence, wherever in the file the bit is."""
    path = _saved(tmp_path / "a.npz")
    data = bytearray(path.read_bytes())
    flipped = tmp_path / "b.npz"
    for place in [*range(0, len(data) * 8, 29), *range((len(data) - 80) * 8, len(data) * 8)]:
        data[place // 8] ^= 1 << place % 8
        flipped.write_bytes(data)
        data[place // 8] ^= 1 << place % 8
        with pytest.raises(CheckpointUnusable, match=r"it is damaged: .*; give one that"):
            checkpoints.read(flipped)


def test_no_shortened_or_lengthened_file_is_read(tmp_path: Path) -> None:
    """A checkpoint that was cut off anywhere, or has something behind it, is refused."""
    data = _saved(tmp_path / "a.npz").read_bytes()
    changed = tmp_path / "b.npz"
    for content in [*(data[:size] for size in range(0, len(data), 97)), data + b"\0", data + data]:
        changed.write_bytes(content)
        with pytest.raises(CheckpointUnusable):
            checkpoints.read(changed)


def _rewritten(path: Path, *, version: int, **changes: Any) -> Path:
    """The same checkpoint with other values, and a checksum that fits them; version 1 has none."""
    with np.load(path) as file:
        members = {name: file[name] for name in file.files}
    tables = {name: changes.pop(name, members[name]) for name in ("q", "visits")}
    facts = {name: json.loads(str(value)) for name, value in members.items() if name not in tables}
    data = pack(tables, facts | {"version": version} | changes)
    path.write_bytes(data if version > 1 else data.replace(b"sha256:", b"nothing"))
    return path


def _table(value: float, shape: tuple[int, ...] = (16, 4)) -> Any:
    return np.full(shape, float(value))


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"q": _table(np.nan)}, "q holds values that are not finite"),
        ({"q": _table(-np.inf)}, "q holds values that are not finite"),
        ({"q": _table(0, (15, 4))}, r"q has the shape \(15, 4\)"),
        ({"q": _table(0, (64,))}, "q is no table of numbers"),
        ({"q": np.zeros((16, 4), complex)}, "another size than it says"),
        ({"visits": np.full((16, 4), -1)}, "visits holds negative numbers"),
        ({"visits": _table(1.0)}, "visits is no table of numbers"),
        ({"epsilon": 7.5}, "epsilon: must be at most 1"),
        ({"epsilon": float("nan")}, "epsilon: must be "),
        ({"epsilon": "0.5"}, "epsilon: must be a number"),
        ({"steps": -1}, "steps: must be at least 0"),
        ({"steps": 2.5}, "steps: "),
        ({"episodes": 10**6}, "must not exceed each other"),
        ({"recent": [0] * 101}, "recent: must have at most 100"),
        ({"recent": [2]}, "recent.0: must be one of"),
        ({"ends": [-1]}, "ends.0: must be at least 0"),
        ({"seed": None}, "seed: must be a whole number"),
        ({"rates": {"alpha": 2}}, "rates.alpha: must be at most 1"),
        (
            {"world_generator": "{}"},
            "world_generator: is no state of a PCG64 .bit_generator is missing",
        ),
        ({"choice_generator": "7"}, "choice_generator: is no state of a PCG64"),
        ({"table_digest": "x"}, "table_digest"),
        ({"is_seeded": 1}, "is_seeded: must be true or false"),
        ({"format": "another"}, "format: must be"),
    ],
)
def test_values_that_no_run_writes_are_refused(
    tmp_path: Path, version: int, changes: dict[str, Any], says: str
) -> None:
    """A checkpoint whose checksum fits is refused where one of its values cannot be, which is named."""
    path = _rewritten(_saved(tmp_path / "a.npz"), version=version, **changes)
    with pytest.raises(CheckpointUnusable, match=says):
        checkpoints.read(path)


def test_states_that_the_world_does_not_have_are_refused(tmp_path: Path) -> None:
    """Tables and places that do not fit the world are refused, although the checkpoint names that world."""
    path = _saved(tmp_path / "a.npz")
    world = fresh().world
    for changes in (
        {"q": _table(0, (15, 4)), "visits": np.zeros((15, 4), int)},
        {"q": _table(0, (16, 3)), "visits": np.zeros((16, 3), int)},
        {"goals": [16]},
    ):
        changed = tmp_path / "b.npz"
        changed.write_bytes(path.read_bytes())
        read = checkpoints.read(_rewritten(changed, version=2, **changes))
        with pytest.raises(CheckpointUnusable, match="does not fit FrozenLake-v1"):
            checkpoints.restore(read, world, Rates(), 3)


def test_a_checkpoint_of_version_1_is_read(tmp_path: Path) -> None:
    """A checkpoint from before there was a checksum is read as it was; version 2 without one is refused."""
    path = _saved(tmp_path / "a.npz")
    new = checkpoints.read(path)
    old = checkpoints.read(_rewritten(path, version=1))
    assert (old.q, old.visits) == (new.q, new.visits)
    assert old.facts == new.facts.model_copy(update={"version": 1})
    bare = _rewritten(path, version=2)
    bare.write_bytes(bare.read_bytes().replace(b"sha256:", b"nothing"))
    with pytest.raises(CheckpointUnusable, match="its checksum is missing"):
        checkpoints.read(bare)


@pytest.mark.timeout(30)
def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """A folder, a FIFO or a device at the path is refused at once."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(CheckpointUnusable, match="it is no file"):
            checkpoints.read(path)


def test_a_refusing_disk_costs_checkpoints_and_not_the_training(tmp_path: Path) -> None:
    """A periodic checkpoint that cannot be written is a warning that says why, and learning goes on."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "checkpoints").write_text("a file where the folder should be")
    done = run(folder, steps=10_000, checkpoint_every_steps=1_000)
    warnings = [event for event in done.of_type("log") if event["level"] == "warning"]
    assert len(warnings) >= 2
    assert all("could not be written: [Errno" in event["message"] for event in warnings)
    assert warnings[-1]["data"]["step"] > 5_000
    assert done.code == 1  # the final one is what the run is for
    assert done.events[-1]["phase"] == "error"


def test_a_fall_of_success_is_a_surprise_once() -> None:
    """A rate that falls by more than the threshold below its best is reported, and not again for the same fall."""
    watch, learner = SurpriseWatch(0.3, set()), fresh()
    reported = []
    for success in [True] * 150 + [False] * 60:
        watch.episode_ended(learner, 15, success)
        surprise = watch.take()
        reported += [surprise.what] if surprise else []
    assert reported == ["drop"]
