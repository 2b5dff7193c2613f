"""Telemetry: values arrive as they were given, and what breaks the contract is refused where it is made."""

import contextlib
import errno
import json
import math
import os
import socket
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.run_folder import MIB, RUN_ID, make_run_folder

from mosaic_contracts.wire import (
    MAX_EVENT_BYTES,
    THINNED,
    Artifact,
    BatchHead,
    Checkpoint,
    Config,
    Episode,
    EpisodeStart,
    Extra,
    Lifecycle,
    Log,
    Metric,
    Record,
    Step,
    decode_batch,
    join_batch,
)
from mosaic_workerkit.artifacts import read_manifest
from mosaic_workerkit.errors import ArtifactPathRefused, ContractViolation, RunFolderInvalid
from mosaic_workerkit.outbox import CommittedMark, OutboxReader, outbox_dir
from mosaic_workerkit.progress import read_progress
from mosaic_workerkit.shipper.heartbeat import worker_notes
from mosaic_workerkit.stephash import step_hash
from mosaic_workerkit.telemetry import NO_EPISODE, PATIENCE_STEPS, PlainStep, Telemetry

HASH = b"12345678"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_run_folder(tmp_path / "run")


@pytest.fixture
def telemetry(folder: Path) -> Iterator[Telemetry]:
    with Telemetry.open(folder) as opened:
        yield opened


def written(folder: Path, first: int = 1) -> list[Record]:
    reader = OutboxReader(outbox_dir(folder, 1))
    reader.seek(first)
    records: list[Record] = []
    while region := reader.read():
        head = BatchHead(RUN_ID, 1, "worker", region.seq0, region.n)
        records += decode_batch(join_batch(head, region.t0_us, region.records)).records
    return records


def test_values_arrive_plain(folder: Path, telemetry: Telemetry) -> None:
    """numpy scalars and arrays become plain values and raw little-endian bytes; NaN and infinity stay."""
    float32: Any = np.float32
    integer: Any = np.int64  # what scripts hand out, whatever the annotation says
    telemetry.config({"seed": np.int64(3), "rate": np.float32(0.5), "list": np.arange(2)})
    telemetry.hashed_step(
        integer(1),
        2,
        3,
        np.int64(1),
        np.float64(1.5),
        True,
        HASH,
        observation=np.zeros(2, ">f4"),
    )
    telemetry.hashed_step(0, 0, 1, np.array([1.5], "<f4"), math.nan, 0, HASH)
    telemetry.metric("loss", integer(7), float32(0.25))
    telemetry.metric("loss", None, math.inf)
    telemetry.episode_start(0, 1, {"way": "seed", "state": "1"}, HASH)
    telemetry.episode(
        0, integer(1), 10, np.float64(9.0), duration_s=0.5, global_step=100, terminated=True
    )
    telemetry.log("info", "x" * 20_000, {"n": np.float64(1)})
    telemetry.extra("bdi.intention", {"goal": "g"})
    telemetry.lifecycle("done")
    config, first, second, *rest = written(folder)
    assert config == Config(1, config.dt, {"seed": 3, "rate": 0.5, "list": [0, 1]})
    assert first == Step(2, first.dt, 1, 2, 3, 1, 1.5, 1, HASH, 0, bytes(8))
    assert isinstance(second, Step)
    assert second.action == np.array([1.5], "<f4").tobytes()
    assert math.isnan(second.reward)
    loss, infinite, start, end, log, extra, last = rest
    assert loss == Metric(4, loss.dt, "loss", 7, 0.25)
    assert infinite == Metric(5, infinite.dt, "loss", None, math.inf)
    assert start == EpisodeStart(6, start.dt, 0, 1, {"way": "seed", "state": "1"}, HASH)
    assert end == Episode(7, end.dt, 0, 1, 10, 9.0, 1, 0.5, 100)
    assert isinstance(log, Log)
    assert log.message.endswith("[cut: 20000 characters]")
    assert extra == Extra(9, extra.dt, "bdi.intention", {"goal": "g"})
    assert last == Lifecycle(10, last.dt, "done")
    assert [record.dt for record in written(folder)] == sorted(r.dt for r in written(folder))


@pytest.mark.parametrize(
    "tell",
    [
        lambda telemetry: telemetry.hashed_step(2**62, 0, 1, 0, 0.0, 0, HASH),
        lambda telemetry: telemetry.hashed_step(0, -(2**62), 1, 0, 0.0, 0, HASH),
        lambda telemetry: telemetry.metric("m", 2**62, 1.0),
        lambda telemetry: telemetry.metrics(2**62, [("m", 1.0)]),
        lambda telemetry: telemetry.episode_start(0, 2**62, {}, HASH),
        lambda telemetry: telemetry.episode(0, 0, 2**62, 1.0),
        lambda telemetry: telemetry.episode(0, 0, 1, 1.0, global_step=2**63 - 1),
        lambda telemetry: telemetry.count_lost_steps(2**62),
        lambda telemetry: telemetry.checkpoint("spec.json", 2**62, "final"),
        lambda telemetry: telemetry.extra(THINNED, {"steps": "many"}),
    ],
)
def test_what_the_store_cannot_hold_is_refused_where_it_is_told(
    folder: Path, telemetry: Telemetry, tell: Callable[[Telemetry], None]
) -> None:
    """The recorder would set aside the batch, with up to a thousand events that are in order."""
    telemetry.config({})
    telemetry.hashed_step(-1, 0, 2**62 - 1, 0, 0.0, 0, HASH)
    with pytest.raises(ContractViolation):
        tell(telemetry)
    assert [type(record) for record in written(folder)] == [Config, Step]


def test_config_comes_first(telemetry: Telemetry) -> None:
    """Anything before the config is refused, but an early error; a second config too."""
    with pytest.raises(ContractViolation, match="call config"):
        telemetry.metric("m", 1, 1.0)
    with pytest.raises(ContractViolation, match="call config"):
        telemetry.hashed_step(0, 0, 1, 0, 0.0, 0, HASH)
    with pytest.raises(ContractViolation, match="call config"):
        telemetry.lifecycle("training")
    telemetry.config({})
    with pytest.raises(ContractViolation, match="once"):
        telemetry.config({})


def test_early_error(folder: Path, telemetry: Telemetry) -> None:
    """A worker that fails before its config can still say so."""
    telemetry.lifecycle("error", {"message": "no such environment"})
    assert [type(record) for record in written(folder)] == [Lifecycle]


@pytest.mark.parametrize("phase", ["done", "stopped", "error"])
def test_nothing_after_the_end(telemetry: Telemetry, phase: str) -> None:
    """After a terminal lifecycle every event is refused."""
    telemetry.config({})
    telemetry.lifecycle(phase)
    with pytest.raises(ContractViolation, match="terminal"):
        telemetry.hashed_step(0, 0, 1, 0, 0.0, 0, HASH)
    with pytest.raises(ContractViolation, match="terminal"):
        telemetry.lifecycle("done")


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.hashed_step(0, 0, 1, object(), 0.0, 0, HASH),
        lambda t: t.hashed_step(0, 0, 1, 0, 0.0, 0, "12345678"),
        lambda t: t.episode_start(0, 0, {1: 2}, HASH),
        lambda t: t.log("loud", "x"),
        lambda t: t.log("info", 3),
        lambda t: t.extra("nospace", {}),
        lambda t: t.extra("big.one", {"data": "x" * 3_000_000}),
        lambda t: t.lifecycle(7),
    ],
)
def test_refused_values_leave_no_hole(folder: Path, telemetry: Telemetry, call: Any) -> None:
    """A refused event consumes no seq, and the stream goes on decodable."""
    telemetry.config({})
    with pytest.raises((ContractViolation, TypeError)):
        call(telemetry)
    telemetry.metric("after", 1, 1.0)
    assert [record.seq for record in written(folder)] == [1, 2]


def test_checkpoint_and_artifact(folder: Path, telemetry: Telemetry) -> None:
    """Announced files have digest and size, are in the manifest, and lie inside the run folder."""
    telemetry.config({})
    telemetry.write_checkpoint(
        "checkpoints/a.bin",
        lambda p: _write(p, b"abc"),
        5,
        "periodic",
    )
    (folder / "tensorboard").mkdir()
    (folder / "tensorboard/events").write_bytes(b"12345")
    telemetry.artifact("tensorboard", "tensorboard", {"writer": "x"})
    _, checkpoint, artifact = written(folder)
    digest = sha256(b"abc").hexdigest()
    facts = ("checkpoints/a.bin", 5, digest, 3, "periodic")
    assert checkpoint == Checkpoint(2, checkpoint.dt, *facts)
    assert artifact == Artifact(
        3, artifact.dt, "tensorboard", "tensorboard", 5, None, {"writer": "x"}
    )
    assert [entry["path"] for entry in read_manifest(folder)] == [
        "checkpoints/a.bin",
        "tensorboard",
    ]
    assert list((folder / "checkpoints").iterdir()) == [folder / "checkpoints/a.bin"]
    (folder / "link").symlink_to("/etc/hostname")
    for path in ("absent", "../outside", "/etc/hostname", "link", "."):
        with pytest.raises(ArtifactPathRefused):
            telemetry.artifact(path, "file")


def test_a_checkpoint_says_the_mean_return(folder: Path, telemetry: Telemetry) -> None:
    """Event and manifest have the mean of the last 20 returns that are numbers, and how many there were."""
    telemetry.config({})
    for number in range(30):
        value = math.nan if number == 29 else float(number)
        telemetry.episode(0, number, 5, value, terminated=True)
    telemetry.write_checkpoint("a.bin", b"abc", 5, "final", {"more": 1})
    mean = {"mean_return_20": 19.0, "mean_return_episodes": 19}
    announced = written(folder)[-1]
    assert isinstance(announced, Checkpoint)
    assert announced.data == {**mean, "more": 1}
    (entry,) = read_manifest(folder)
    assert entry.items() >= mean.items()


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def test_checkpoint_on_a_full_disk(small_disk: Path) -> None:
    """ENOSPC leaves the older checkpoint whole and no half file; nothing is announced."""
    folder = make_run_folder(small_disk / "run")
    with Telemetry.open(folder) as telemetry:
        telemetry.config({})
        telemetry.write_checkpoint("c.bin", lambda p: _write(p, b"old"), 1, "periodic")
        (small_disk / "filler").unlink()
        with pytest.raises(OSError, match="No space") as raised:
            telemetry.write_checkpoint("c.bin", lambda p: _write(p, bytes(2**24)), 2, "final")
        assert raised.value.errno == errno.ENOSPC
        assert (folder / "c.bin").read_bytes() == b"old"
        assert not list(folder.glob(".c.bin*"))
        assert telemetry.next_seq == 3


def test_progress_word(folder: Path, telemetry: Telemetry) -> None:
    """Progress is read by another process of the host, with its age."""
    telemetry.progress(12, 100)
    telemetry.progress(np.int64(13))
    word = read_progress(folder)
    assert word is not None
    assert (word.step, word.total) == (13, 100)
    assert 0 <= word.age_s < 60


def test_run_folder_without_spec(tmp_path: Path) -> None:
    """A folder that no placement made is named in the error."""
    with pytest.raises(RunFolderInvalid, match=r"spec\.json"):
        Telemetry.open(tmp_path)


def test_spec_of_a_newer_version(tmp_path: Path) -> None:
    """A field that this version does not know does not keep a worker from training."""
    folder = make_run_folder(tmp_path / "run")
    run = json.loads((folder / "spec.json").read_text())
    run["spec"]["from_the_future"] = 1
    (folder / "spec.json").write_text(json.dumps(run))
    with Telemetry.open(folder) as telemetry:
        assert telemetry.spec.environment == "Synthetic-v0"


def test_step_hash_is_the_contracts() -> None:
    """blake2b of little-endian observation, float64 reward, one byte of flags; dicts by sorted key."""
    import struct
    from hashlib import blake2b

    def want(observation: bytes, reward: float, flags: int) -> bytes:
        data = observation + struct.pack("<dB", reward, flags)
        return blake2b(data, digest_size=8).digest()

    array = np.array([[1.5, 2.5], [3.5, 4.5]], "<f4")
    assert step_hash(array, 1.0, 2) == want(array.tobytes(), 1.0, 2)
    assert step_hash(array.astype(">f4"), 1.0, 2) == step_hash(array, 1.0, 2)
    assert step_hash(array.T, 1.0, 2) == want(array.T.tobytes(), 1.0, 2)
    for discrete in (7, np.int64(7), np.int32(7)):
        assert step_hash(discrete, -1.0, 0) == want(struct.pack("<q", 7), -1.0, 0)
    assert step_hash({"b": 1, "a": array}) == want(array.tobytes() + struct.pack("<q", 1), 0.0, 0)
    assert step_hash([0.5, -2.0], 1.0) == want(struct.pack("<2d", 0.5, -2.0), 1.0, 0)
    assert step_hash((1, "é"), math.nan) == want(struct.pack("<q", 1) + "é".encode(), math.nan, 0)
    with pytest.raises(TypeError, match="cannot hash"):
        step_hash(object())


def test_notes_last_until_they_are_taken_back(folder: Path, telemetry: Telemetry) -> None:
    """What the worker notes is in its run folder by name, and gone when it is taken back; it is no event."""
    telemetry.config({})
    telemetry.note("line", "degraded: the line is lost")
    telemetry.note("disk", "slow")
    assert worker_notes(folder) == ["degraded: the line is lost", "slow"]
    telemetry.note("line", None)
    assert worker_notes(folder) == ["slow"]
    assert len(written(folder)) == 1


def test_kept_notes_are_shown_beside_the_others(folder: Path, telemetry: Telemetry) -> None:
    """A note that stays after the run's end is shown while the run lives too, and can be taken back."""
    telemetry.note("line", "degraded")
    telemetry.note("output", "not understood", kept=True)
    assert worker_notes(folder) == ["degraded", "not understood"]
    telemetry.note("output", None, kept=True)
    assert worker_notes(folder) == ["degraded"]


def test_a_folder_without_notes_has_none(folder: Path) -> None:
    """A worker that notes nothing has no file; a broken one is said, for it may hide something."""
    assert worker_notes(folder) == []
    (folder / "control/notes.json").write_text("{")
    assert worker_notes(folder)[0].startswith("the worker's notes cannot be read")


def _fifo(folder: Path) -> None:
    os.mkfifo(folder / "odd")


def _socket(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "odd"))


def _loop(folder: Path) -> None:
    (folder / "odd").symlink_to("odd")


def _long_loop(folder: Path) -> None:
    (folder / "odd").symlink_to("b/c")
    (folder / "b").symlink_to("odd")


def _link_to_a_fifo(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "odd").symlink_to("pipe")


def _dangling(folder: Path) -> None:
    (folder / "odd").symlink_to("absent")


def _link_to_a_device(folder: Path) -> None:
    (folder / "odd").symlink_to("/dev/zero")


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "make", [_fifo, _socket, _loop, _long_loop, _link_to_a_fifo, _dangling, _link_to_a_device]
)
@pytest.mark.parametrize(
    "announce",
    [lambda t: t.checkpoint("odd", 1, "periodic"), lambda t: t.artifact("odd", "file")],
    ids=["checkpoint", "artifact"],
)
def test_what_is_no_regular_file_is_refused(
    folder: Path,
    telemetry: Telemetry,
    monkeypatch: pytest.MonkeyPatch,
    make: Any,
    announce: Any,
) -> None:
    """A FIFO, a socket, a device or a loop of links is refused with a reason, at once, and telemetry goes on."""
    telemetry.config({})
    monkeypatch.chdir(folder)  # the path of a socket may have 107 bytes
    make(Path())
    with pytest.raises(ArtifactPathRefused, match=r"odd|pipe"):
        announce(telemetry)
    telemetry.metric("after", 1, 1.0)
    assert [type(record) for record in written(folder)] == [Config, Metric]
    assert read_manifest(folder) == []


@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", ["a" * 300, "nul\0byte", "not-utf8-\udcff", "file/below"])
def test_a_name_that_cannot_be_announced_is_refused(
    folder: Path, telemetry: Telemetry, name: str
) -> None:
    """A name that is too long, holds NUL, is not UTF-8 or goes through a file is refused with a reason."""
    telemetry.config({})
    (folder / "file").write_text("")
    with contextlib.suppress(OSError, ValueError):
        (folder / name).write_text("")
    with pytest.raises(ArtifactPathRefused):
        telemetry.checkpoint(name, 1, "periodic")
    with pytest.raises(ArtifactPathRefused):
        telemetry.artifact(name, "file")
    assert len(written(folder)) == 1
    assert read_manifest(folder) == []


@pytest.mark.timeout(30)
def test_a_folder_with_odd_files_is_announced(folder: Path, telemetry: Telemetry) -> None:
    """A folder counts its regular files only: links, loops and FIFOs in it are neither followed nor read."""
    telemetry.config({})
    (folder / "logs2").mkdir()
    (folder / "logs2/events").write_bytes(b"12345")
    (folder / "logs2/loop").symlink_to("loop")
    (folder / "logs2/up").symlink_to("..")
    (folder / "logs2/outside").symlink_to("/etc")
    os.mkfifo(folder / "logs2/pipe")
    telemetry.artifact("logs2", "tensorboard")
    assert [entry["bytes"] for entry in read_manifest(folder)] == [5]


def test_a_checkpoint_is_one_file(folder: Path, telemetry: Telemetry) -> None:
    """A folder announced as a checkpoint is refused with a reason."""
    telemetry.config({})
    (folder / "model").mkdir()
    with pytest.raises(ArtifactPathRefused, match="is a folder"):
        telemetry.checkpoint("model", 1, "periodic")


def test_a_link_inside_the_run_names_its_file(folder: Path, telemetry: Telemetry) -> None:
    """A link to a file of the same run is announced as that file."""
    telemetry.config({})
    (folder / "step-1.bin").write_bytes(b"abc")
    (folder / "latest.bin").symlink_to("step-1.bin")
    telemetry.checkpoint("latest.bin", 1, "periodic")
    assert [entry["path"] for entry in read_manifest(folder)] == ["step-1.bin"]


def test_steps_without_an_episodes_end_are_noted(folder: Path, telemetry: Telemetry) -> None:
    """After 50,000 recorded steps without one episode's end a note says so, until one ends."""
    telemetry.config({})
    for step in range(1, PATIENCE_STEPS + 2_000):
        if step < 1_000:
            telemetry.metric("loss", step, 0.5)  # counts for nothing
        telemetry.hashed_step(0, 0, step, 0, 0.0, 0, HASH)
        if step == PATIENCE_STEPS - 1:
            assert worker_notes(folder) == []
    (note,) = worker_notes(folder)
    assert note.startswith("No episode has ended in more than 50,000 recorded steps")
    assert "has no time limit" in note
    (log,) = [record for record in written(folder) if isinstance(record, Log)]
    assert (log.level, log.message) == ("warning", note)
    telemetry.episode(0, 0, 51_999, 0.0, terminated=True)
    assert worker_notes(folder) == []


def test_plain_steps_without_an_episodes_end_are_noted(folder: Path, telemetry: Telemetry) -> None:
    """The short way of a step counts too, and a worker's own note on the matter stands."""
    telemetry.config({})
    for step in range(1, PATIENCE_STEPS + 2_000):
        telemetry.plain_steps([(0, 0, step, 0, 0.0, 0, b"")], has_observations=False)
    assert worker_notes(folder)[0].startswith("No episode has ended in more than 50,000")
    with Telemetry.open(make_run_folder(folder.parent / "other")) as other:
        other.config({})
        other.note(NO_EPISODE, "of a known cause")
        for step in range(1, PATIENCE_STEPS + 2_000):
            other.plain_steps([(0, 0, step, 0, 0.0, 0, b"")], has_observations=False)
        assert worker_notes(folder.parent / "other") == ["of a known cause"]


def test_steps_with_episodes_are_not_noted(folder: Path, telemetry: Telemetry) -> None:
    """Where an episode has ended there is no note, however many steps follow."""
    telemetry.config({})
    telemetry.episode(0, 0, 1, 0.0, terminated=True)
    for step in range(1, PATIENCE_STEPS + 2_000):
        telemetry.hashed_step(0, 1, step, 0, 0.0, 0, HASH)
    assert worker_notes(folder) == []


@pytest.mark.parametrize("count", [1, 4, 7, 999, 1000, 1001])
@pytest.mark.parametrize("has_observations", [True, False])
@pytest.mark.parametrize("size", [0, 5_000, MAX_EVENT_BYTES + 1])
def test_plain_steps_are_the_same_events(
    folder: Path, telemetry: Telemetry, count: int, has_observations: bool, size: int
) -> None:
    """`plain_steps` writes what as many calls of `step` write: for all rewards, flags and sizes, across cuts."""
    telemetry.config({})
    rewards = [1.0, 1.0, -0.0, 0.0, math.inf, 1e-300, 1.0]
    plain: list[PlainStep] = []
    for number in range(2_500):
        flags = number % 4 if number % 7 == 0 else 0
        seen = number.to_bytes(4, "little") + bytes(0 if number % 500 else size)
        plain.append((1, 2, number, number % 3, rewards[number % 7], flags, seen))
    for start in range(0, len(plain), count):
        telemetry.plain_steps(plain[start : start + count], has_observations=has_observations)
    for env, episode, step, action, reward, flags, seen in plain:
        digest = step_hash(np.frombuffer(seen, np.uint8), reward, flags)
        shown = seen if has_observations else None
        telemetry.hashed_step(env, episode, step, action, reward, flags, digest, 0, shown)
    steps = [record for record in written(folder) if isinstance(record, Step)]
    assert len(steps) == 2 * len(plain)
    for fast, usual in zip(steps[: len(plain)], steps[len(plain) :], strict=True):
        assert (fast.seq < usual.seq, fast.dt <= usual.dt) == (True, True)
        usual.seq, usual.dt = fast.seq, fast.dt
        assert fast == usual


def test_plain_steps_keep_the_contract(folder: Path, telemetry: Telemetry) -> None:
    """`plain_steps` is refused before the config, after the end and after closing, as `step` is."""
    steps: list[PlainStep] = [(0, 0, 1, 0, 0.0, 0, b"")]
    with pytest.raises(ContractViolation, match="call config"):
        telemetry.plain_steps(steps, has_observations=False)
    telemetry.config({})
    with pytest.raises(ContractViolation, match="plain values"):
        telemetry.plain_steps([(0, 0, 1, object(), 0.0, 0, b"")], has_observations=False)
    telemetry.lifecycle("done")
    with pytest.raises(ContractViolation, match="terminal"):
        telemetry.plain_steps(steps, has_observations=False)
    telemetry.close()
    with pytest.raises(ContractViolation):
        telemetry.plain_steps(steps, has_observations=False)
    assert len(written(folder)) == 2


def test_plain_steps_thin_and_resume(tmp_path: Path) -> None:
    """At a full outbox under policy `thin` plain steps are dropped and counted, and go on when there is room."""
    folder = make_run_folder(tmp_path / "run", outbox_bytes=17 * MIB, when_outbox_full="thin")
    with Telemetry.open(folder) as telemetry:
        telemetry.config({})
        steps: list[PlainStep] = [(0, 0, 1, 0, 0.0, 0, bytes(100_000))] * 4
        for _ in range(60):
            telemetry.plain_steps(steps, has_observations=True)
        kept = telemetry.next_seq - 2
        assert 0 < kept < 240
        CommittedMark(outbox_dir(folder, 1)).move(telemetry.next_seq - 1)
        offered = 240
        while telemetry.next_seq == kept + 2:
            telemetry.plain_steps(steps, has_observations=True)
            offered += 4
        later = written(folder, kept + 2)
        (thinned,) = [record for record in later if isinstance(record, Extra)]
        assert thinned.type == THINNED
        # the room may be noticed in the middle of a call
        resumed = [type(record) for record in later].count(Step)
        assert 1 <= resumed <= 4
        assert kept + thinned.data["steps"] + resumed == offered


@pytest.mark.parametrize(
    "observation",
    [
        np.zeros((900, 900, 3), np.uint8),
        np.zeros(MAX_EVENT_BYTES, np.uint8),
        [0.5] * 300_000,
        "x" * 3_000_000,
        {"camera": np.zeros((900, 900, 3), np.uint8), "at": 3},
    ],
    ids=["picture", "at the limit", "list", "text", "dict"],
)
def test_a_step_that_is_too_large_is_kept_without_its_observation(
    folder: Path, telemetry: Telemetry, observation: Any
) -> None:
    """An observation larger than an event costs itself alone: it is named once, counted, and the run goes on."""
    telemetry.config({})
    telemetry.episode_start(0, 0, {"way": "seed", "seed": 1}, HASH, observation)
    for step in range(1, 4):
        telemetry.hashed_step(0, 0, step, 7, 0.5, 0, HASH, observation=observation)
    telemetry.hashed_step(0, 0, 4, 7, 0.5, 1, HASH, observation=b"small")
    (note,) = worker_notes(folder)
    assert note.startswith("An event is too large: the start of episode 0 is kept without its")
    telemetry.lifecycle("done")
    records = written(folder)
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    (start,) = [record for record in records if isinstance(record, EpisodeStart)]
    assert (start.reset, start.observation) == ({"way": "seed", "seed": 1}, None)
    steps = [record for record in records if isinstance(record, Step)]
    assert [step.step for step in steps] == [1, 2, 3, 4]
    assert [step.observation for step in steps] == [None, None, None, b"small"]
    assert {(step.action, step.reward, step.hash) for step in steps} == {(7, 0.5, HASH)}
    first, last = [record for record in records if isinstance(record, Log)]
    assert str(MAX_EVENT_BYTES) in first.message
    assert last.message.startswith("4 events were too large")
    assert isinstance(records[-1], Lifecycle)


def test_a_step_with_a_huge_action_is_kept_too(folder: Path, telemetry: Telemetry) -> None:
    """An action that is too large is left out as well, and the report says so; one such step is reported once."""
    telemetry.config({})
    telemetry.hashed_step(0, 0, 1, bytes(3_000_000), 0.5, 1, HASH, observation=bytes(9))
    telemetry.close()
    _, step, log = written(folder)
    assert isinstance(step, Step)
    assert (step.action, step.observation, step.reward) == (None, None, 0.5)
    assert isinstance(log, Log)
    assert "without its action and observation" in log.message
