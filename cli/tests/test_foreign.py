"""Runs of TensorBoard, W&B and mlflow, read from what these programs wrote (data/README.md)."""

import math
import os
import random
import sqlite3
import struct
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard
from pydantic import ValidationError

from mosaic_base.sealed_zip import SealedZip
from mosaic_cli.errors import ValueRefused
from mosaic_cli.foreign import values
from mosaic_cli.foreign.errors import ForeignInvalid
from mosaic_cli.foreign.event_file import _masked, read_event_file
from mosaic_cli.foreign.finding import find_foreign_runs, is_foreign
from mosaic_client.archive.foreign import (
    ForeignPoint,
    ForeignRun,
    ForeignText,
    write_foreign_archive,
)
from mosaic_contracts.archive_words import RUN_BATCHES, RUN_RECORD, file_entry, run_entry
from mosaic_contracts.batch_file import read_batches
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.states import EndCause, RunState
from mosaic_contracts.wire import decode_batch

ROOTS = {"*tfevents*.0": "tensorboard", "*.wandb": "wandb", "mlflow.db": "database"}
RUNS = Path(__file__).parent / "data" / "foreign_runs.tar.xz"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What three programs wrote."""
    with tarfile.open(RUNS) as archive:
        archive.extractall(tmp_path / "old", filter="data")
    return tmp_path / "old"


def by_name(path: Path) -> dict[str, ForeignRun]:
    """Runs of a folder by name."""
    return {run.name: run for run in find_foreign_runs(path)}


def points(run: ForeignRun, name: str) -> list[tuple[int | None, float]]:
    """Step and value of a metric's points."""
    return [
        (event.step, event.value)
        for event in run.events()
        if isinstance(event, ForeignPoint) and event.name == name
    ]


def texts(run: ForeignRun) -> list[ForeignText]:
    """All texts."""
    return [event for event in run.events() if isinstance(event, ForeignText)]


def the_only(folder: Path, pattern: str) -> Path:
    """The first file of a name."""
    return sorted(folder.rglob(pattern))[0]


def test_tensorboard_has_scalars_texts_and_parameters(folder: Path) -> None:
    """Scalars as numbers and as tensors, with step and wall time; a table of parameters as CleanRL writes it."""
    run = by_name(folder / "tensorboard")["run0"]
    expected = [(row * 10, row * 1.5) for row in range(100)]
    assert points(run, "charts/episodic_return") == expected
    assert points(run, "losses/value")[1] == (10, 0.5)
    assert points(run, "losses/double") == [(5, 0.1)]
    assert math.isnan(points(run, "nan")[0][1])
    assert run.parameters == {"env_id": "CartPole-v1", "seed": 0, "gae": True, "lr": 0.00025}
    assert [text.tag for text in texts(run)] == ["hyperparameters"]
    assert (run.state, run.step) == (RunState.SUCCEEDED, 990)
    assert all(run.started_at <= event.t <= run.ended_at for event in run.events())
    assert "img, weights" in run.remarks[0]


def test_hyperparameters_belong_to_the_run_above(folder: Path) -> None:
    """torch's `add_hparams` writes them to a folder of their own."""
    runs = by_name(folder / "tensorboard")
    assert sorted(runs) == ["run0", "run1"]
    assert runs["run1"].parameters["lr"] == 0.1
    assert runs["run1"].parameters["name"] == "adam"
    assert points(runs["run1"], "hparam/acc")[0][0] == 0
    assert len(runs["run1"].files) == 2


def test_wandb_has_history_configuration_and_end(folder: Path) -> None:
    """The environment's steps are the steps where the script logs them as `global_step`."""
    runs = by_name(folder / "wandb")
    run = runs["ppo-old-0"]
    assert points(run, "charts/episodic_return")[:2] == [(0, 0.0), (10, 1.0)]
    assert points(run, "loss.value")[1] == (10, 0.5)
    assert math.isnan(points(run, "charts/episodic_return")[-1][1])
    assert run.parameters == {
        "env_id": "CartPole-v1",
        "seed": 0,
        "lr": 0.001,
        "net.hidden": "[64, 64]",
        "net.act": "tanh",
    }
    assert (run.tags, run.note, run.step) == (["baseline", "v1"], "an old run", 510)
    assert (run.state, runs["ppo-old-1"].state) == (RunState.SUCCEEDED, RunState.FAILED)
    assert runs["ppo-old-1"].end.exit_code == 1
    assert run.origin["project"] == "old"


def test_mlflow_has_metrics_parameters_tags_and_artifacts(folder: Path) -> None:
    """Names with slashes, a note, a failed run."""
    runs = by_name(folder / "mlruns")
    run = runs["dqn-1"]
    assert points(run, "charts/episodic_return")[2] == (200, 3.0)
    assert math.isnan(points(run, "bad")[0][1])
    assert run.parameters == {
        "env_id": "CartPole-v1",
        "lr": 0.001,
        "layers": "[64, 64]",
        "seed": 1,
    }
    assert (run.tags, run.note) == (["old experiment", "team=rl lab"], "my note")
    assert [file.path for file in run.files] == ["artifacts/models/model.txt"]
    assert (runs["failed"].state, runs["failed"].end.cause) == (
        RunState.FAILED,
        EndCause.EXIT_CODE,
    )


def test_mlflows_database_has_the_same(folder: Path) -> None:
    """The default of newer versions. Its artifacts lie next to it."""
    run = by_name(folder / "database" / "mlflow.db")["sac-1"]
    assert points(run, "charts/episodic_return")[2] == (200, 3.0)
    assert math.isnan(points(run, "bad")[0][1])
    assert run.parameters == {"env_id": "CartPole-v1", "lr": 0.001, "seed": 1}
    assert (run.state, run.note) == (RunState.SUCCEEDED, "my note")
    assert run.tags == ["new experiment", "team=rl lab"]
    assert [file.path for file in run.files] == ["artifacts/models/model.txt"]


def test_a_path_in_a_database_is_not_followed(folder: Path) -> None:
    """Artifacts are looked for next to the database, whatever it says."""
    path = folder / "database" / "mlflow.db"
    database = sqlite3.connect(path)
    database.execute("UPDATE runs SET artifact_uri = '/etc', run_uuid = '../../secrets'")
    database.commit()
    database.close()
    (run,) = find_foreign_runs(path)
    assert run.files == []


def test_a_folder_may_have_all_of_them(folder: Path) -> None:
    """And each import of a run gives the same id, wherever its files lie."""
    runs = find_foreign_runs(folder)
    assert len(runs) == 8
    (folder / "mlruns").rename(folder / "elsewhere")
    assert {run.run_id for run in find_foreign_runs(folder)} == {run.run_id for run in runs}


def test_a_copy_of_a_run_is_the_same_run(folder: Path) -> None:
    """It is imported once."""
    source = folder / "tensorboard" / "run0"
    (folder / "tensorboard" / "copy").mkdir()
    for file in source.iterdir():
        (folder / "tensorboard" / "copy" / file.name).write_bytes(file.read_bytes())
    assert len(find_foreign_runs(folder / "tensorboard")) == 2


def test_one_file_is_enough(folder: Path) -> None:
    """An event file, or the log of a W&B run; any other file is left to the other imports."""
    assert len(find_foreign_runs(the_only(folder, "*tfevents*"))) == 1
    assert len(find_foreign_runs(the_only(folder, "*.wandb"))) == 1
    other = folder / "tfevents.txt"
    other.write_text("words that are no events")
    assert not is_foreign(other)


def test_an_archive_of_them_is_what_a_stack_takes(folder: Path, tmp_path: Path) -> None:
    """Sealed, every batch decodes, and events, record and files agree."""
    runs = find_foreign_runs(folder)
    target = tmp_path / "made.zip"
    write_foreign_archive(runs, target)
    with SealedZip(target) as archive:
        assert sum(1 for _ in archive.verify())
        for run in runs:
            record = RunRecord.model_validate_json(
                archive.read(run_entry(run.run_id, RUN_RECORD), 2**20)
            )
            assert (record.run_id, record.state) == (run.run_id, run.state)
            batches = tmp_path / "batches"
            batches.write_bytes(b"".join(archive.pieces(run_entry(run.run_id, RUN_BATCHES))))
            with batches.open("rb") as file:
                decoded = [
                    decode_batch(zstandard.ZstdDecompressor().decompress(frame))
                    for _, frame in read_batches(file)
                ]
            count = sum(len(batch.records) for batch in decoded)
            assert count == len(list(run.events())) + len(run.files) + 2
            for one in run.files:
                entry = b"".join(archive.pieces(file_entry(run.run_id, one.path)))
                assert entry == one.source.read_bytes()


def test_a_killed_writer_leaves_a_part_of_a_record(folder: Path) -> None:
    """What is before it counts, for TensorBoard and for W&B; the latter has no end then."""
    file = the_only(folder, "*tfevents*.0")
    whole = len(list(read_event_file(file)))
    file.write_bytes(file.read_bytes()[:-5])
    assert len(list(read_event_file(file))) == whole - 1
    log = the_only(folder, "*.wandb")
    log.write_bytes(log.read_bytes()[:-20])
    (run,) = find_foreign_runs(log)
    assert (run.state, run.end.cause) == (RunState.INTERRUPTED, EndCause.INTERRUPTED)


def frame(data: bytes) -> bytes:
    """A record of an event file."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", _masked(length)) + data + struct.pack("<I", _masked(data))


def claim(length: int) -> bytes:
    """The head of a record that claims to be so long, with the right checksum."""
    head = struct.pack("<Q", length)
    return head + struct.pack("<I", _masked(head))


@pytest.mark.parametrize(
    ("tail", "words"),
    [
        (claim(2**32), "claims 4,294,967,296 bytes"),
        (b"\1" * 12, "checksum of a length"),
        (frame(b"\x0a\xff\xff\xff\xff\x0f"), "longer than its message"),
        (frame(b"\x0b"), "wire type"),
        (frame(b"\x09\0\0\0\0\0\0\xf0\xff"), "is no time"),
        (claim(3) + b"abcdefg", "checksum of a record"),
    ],
)
def test_a_damaged_event_file_is_refused_with_its_place(
    folder: Path, tail: bytes, words: str
) -> None:
    """Nothing is guessed."""
    file = the_only(folder, "*tfevents*.0")
    with file.open("ab") as opened:
        opened.write(tail)
    with pytest.raises(ForeignInvalid, match=words) as refused:
        find_foreign_runs(folder / "tensorboard")
    assert file.name in str(refused.value)


@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        ("metrics/loss", "17 words\n", "line 1"),
        ("metrics/loss", "1700000000000 0.5 1\nx", "line 2"),
        ("metrics/loss", "1" * 30 + " 1 1", "is no time"),
        ("meta.yaml", "[1, 2]", "not as mlflow writes it"),
        ("meta.yaml", "a: [", "is no YAML"),
        ("meta.yaml", "start_time: never", "no time in milliseconds"),
    ],
)
def test_a_damaged_store_of_mlflow_is_refused_with_its_place(
    folder: Path, path: str, text: str, words: str
) -> None:
    """File and line."""
    run = the_only(folder, "metrics").parent
    (run / path).write_text(text)
    with pytest.raises(ForeignInvalid, match=words):
        find_foreign_runs(folder / "mlruns")


def test_a_deleted_run_of_mlflow_stays_deleted(folder: Path) -> None:
    """mlflow's user has thrown it away."""
    meta = the_only(folder, "metrics").parent / "meta.yaml"
    meta.write_text(meta.read_text().replace("active", "deleted"))
    assert len(find_foreign_runs(folder / "mlruns")) == 2


def test_no_link_is_followed(folder: Path, tmp_path: Path) -> None:
    """Neither to a folder with runs nor to a file that would come along."""
    root = tmp_path / "links"
    root.mkdir()
    (root / "runs").symlink_to(folder / "tensorboard")
    (root / "events.out.tfevents.1").symlink_to(the_only(folder, "*tfevents*.0"))
    with pytest.raises(ValueRefused, match="has no TensorBoard"):
        find_foreign_runs(root)
    artifacts = the_only(folder, "artifacts/models")
    (artifacts / "passwords").symlink_to("/etc/passwd")
    files = [file.path for run in find_foreign_runs(folder / "mlruns") for file in run.files]
    assert "artifacts/models/passwords" not in files


def altered(data: bytes, chance: random.Random) -> Iterator[bytes]:
    """Copies with a byte altered, or cut."""
    for _ in range(120):
        copy = bytearray(data)
        copy[chance.randrange(len(copy))] ^= 1 << chance.randrange(8)
        yield bytes(copy[: chance.randrange(len(copy))] if chance.random() < 0.3 else copy)


@pytest.mark.nightly(by_day=["*.wandb", "loss"])
@pytest.mark.parametrize("pattern", ["*tfevents*.0", "*.wandb", "meta.yaml", "loss", "mlflow.db"])
def test_whatever_is_altered_is_read_or_refused(folder: Path, tmp_path: Path, pattern: str) -> None:
    """No other error comes out of a file."""
    file = sorted(folder.rglob(pattern))[-1]
    root = ROOTS.get(pattern, "mlruns")
    for data in altered(file.read_bytes(), random.Random(5)):
        file.write_bytes(data)
        try:
            runs = find_foreign_runs(folder / root)
            write_foreign_archive(runs, tmp_path / "made.zip")
        except (ForeignInvalid, ValueRefused, ValidationError):
            continue
        finally:
            (tmp_path / "made.zip").unlink(missing_ok=True)


def test_values_of_others_become_values_here() -> None:
    """Numbers and truth from text, the rest as JSON; tags without commas; short names."""
    read = [values.parameter_of_text(text) for text in ("1", "1e-3", "True", "None", "a b", "nan")]
    assert read == [1, 0.001, True, None, "a b", "nan"]
    assert values.flattened({"a": {"b": [1], "c": {}}}) == {"a.b": "[1]", "a.c": "{}"}
    assert values.tags(["a,b", "x" * 100, "ok", "ok"]) == ["ok"]
    assert values.name("a\nb") == "a b"
    assert values.table_parameters("|param|value|\n|-|-|\n|a|1|\n|b|x|y|") == {"a": 1, "b": "x|y"}


def test_a_file_that_may_not_be_read_is_named(folder: Path) -> None:
    """Not swallowed."""
    file = the_only(folder, "*tfevents*.0")
    file.chmod(0)
    if os.access(file, os.R_OK):
        pytest.skip("this user reads every file")
    with pytest.raises(PermissionError):
        find_foreign_runs(folder / "tensorboard")
