"""Exports: what is stored is what is written, as JSON lines and as Parquet."""

import json
import math
import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from mosaic_client import AnswerInvalid, AsyncClient, Client, ExportRefused, Location
from mosaic_client.export.columns import _packed
from mosaic_contracts.builtin_values import event_to_builtin
from mosaic_contracts.stored import BatchPage, encode_page
from mosaic_contracts.wire import (
    Batch,
    BatchHead,
    Config,
    Episode,
    Extra,
    Lifecycle,
    Metric,
    Record,
    Step,
    encode_record,
    join_batch,
    to_event,
)

RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
HASH = bytes(8)
SPACES: dict[str, Any] = {
    "action": {"kind": "discrete", "n": 3},
    "observation": {"kind": "box", "dtype": "<f4", "shape": [1, 2]},
}
SEEN = struct.pack("<2f", 1.5, -2.0)
WORKER: list[Record] = [
    Config(1, 0, {"spaces": SPACES, "raw": b"\x00"}),
    Step(2, 10, 0, 0, 1, 1, 1.0, 0, HASH, 0, SEEN),
    Step(3, 20, 0, 0, 2, 2, math.nan, 1, HASH, 0, None),
    Episode(4, 30, 0, 0, 2, math.inf, 3, 0.5, 2),
    Metric(5, 40, "null", None, -math.inf),
    Metric(6, 50, "loss", 2, 0.25),
    Extra(7, 60, "bdi.intention", {"goal": None, "名": math.nan}),
]
SUPERVISOR: list[Record] = [Lifecycle(1, 15, "running"), Lifecycle(2, 70, "succeeded")]


def frame(records: Sequence[Record], source: str = "worker", attempt: int = 1) -> bytes:
    """A block as the store keeps it."""
    head = BatchHead(RUN_ID, attempt, source, records[0].seq, len(records))
    raw = join_batch(head, 1_000_000, b"".join(map(encode_record, records)))
    return zstandard.ZstdCompressor(level=1).compress(raw)


def pages(*found: BatchPage) -> httpx.MockTransport:
    """A stack that answers with these pages, one after the other, by their cursors."""
    by_cursor = dict(zip(["", *(page.cursor for page in found)], found, strict=False))

    def answer(request: httpx.Request) -> httpx.Response:
        page = by_cursor[request.url.params.get("cursor", "")]
        return httpx.Response(200, content=encode_page(page))

    return httpx.MockTransport(answer)


def client_of(*found: BatchPage) -> Client:
    """A client of that stack."""
    return Client(Location("http://127.0.0.1:9", "secret"), transport=pages(*found))


PAGES = (
    BatchPage(
        {1: SPACES},
        [frame(WORKER[:3]), frame(SUPERVISOR, "supervisor")],
        "1.supervisor.1~1.worker.3",
        True,
    ),
    # its frames begin before the cursor and end behind it
    BatchPage(
        {1: SPACES},
        [frame(WORKER[2:]), frame([*SUPERVISOR, Lifecycle(3, 80, "later")], "supervisor")],
        "1.supervisor.2~1.worker.7",
        False,
    ),
)


def expected() -> list[dict[str, Any]]:
    """The events in order of time, as plain values."""
    pairs = [("worker", record) for record in WORKER] + [("supervisor", r) for r in SUPERVISOR]
    pairs.sort(key=lambda pair: pair[1].dt)
    batch = {name: Batch(1, RUN_ID, 1, name, 1, 1_000_000, []) for name in ("worker", "supervisor")}
    return [event_to_builtin(to_event(batch[name], record), SPACES) for name, record in pairs]


def test_json_lines_hold_every_event_in_order_of_time(tmp_path: Path) -> None:
    """Sources are merged by time, cut frames are not doubled, non-finite numbers are words, no other file is left."""
    target = tmp_path / "run.jsonl"
    counts: list[int] = []
    with client_of(*PAGES) as client:
        assert client.export(RUN_ID, target, progress=counts.append) == 9
    words = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
    lines = [
        json.loads(line, parse_constant=pytest.fail) for line in target.read_text().splitlines()
    ]
    assert [line["seq"] for line in lines] == [1, 2, 1, 3, 4, 5, 6, 7, 2]
    assert repr([words_to_floats(line, words) for line in lines]) == repr(expected())
    assert lines[1]["observation"] == [[1.5, -2.0]]
    assert counts[-1] == 9
    assert [path.name for path in tmp_path.iterdir()] == ["run.jsonl"]


def words_to_floats(value: Any, words: dict[str, float]) -> Any:
    """The value with words of numbers as the numbers."""
    if isinstance(value, dict):
        return {key: words_to_floats(item, words) for key, item in value.items()}
    if isinstance(value, list):
        return [words_to_floats(item, words) for item in value]
    return words.get(value, value) if isinstance(value, str) else value


def test_types_are_chosen(tmp_path: Path) -> None:
    """Only the wanted types are written, whatever else the frames hold."""
    target = tmp_path / "some.jsonl"
    with client_of(*PAGES) as client:
        assert client.export(RUN_ID, target, types=["metric", "bdi.intention"]) == 3


def test_parquet_has_a_file_for_each_type_with_typed_columns(tmp_path: Path) -> None:
    """Numbers stay numbers, NaN included; actions and observations have the type of the run's spaces."""
    with client_of(*PAGES) as client:
        assert client.export(RUN_ID, tmp_path / "run", "parquet") == 9
    files = {path.stem: pq.read_table(path) for path in (tmp_path / "run").iterdir()}
    assert {name: table.num_rows for name, table in files.items()} == {
        "config": 1, "step": 2, "episode": 1, "metric": 2, "extra": 1, "lifecycle": 2,
    }  # fmt: skip
    steps = files["step"].to_pydict()
    assert steps["action"] == [1, 2]
    assert steps["observation"] == [[1.5, -2.0], None]
    assert files["step"].schema.field("observation").metadata == {b"shape": b"[1,2]"}
    assert math.isnan(steps["reward"][1])
    assert (steps["terminated"], steps["truncated"]) == ([False, True], [False, False])
    assert steps["t"][0].timestamp() == 1.00001
    assert steps["run_id"] == [RUN_ID] * 2
    assert files["metric"].to_pydict()["step"] == [None, 2]
    assert json.loads(files["extra"].to_pydict()["data"][0]) == {"goal": None, "名": "NaN"}


@pytest.mark.parametrize(
    ("spaces", "action"),
    [
        (SPACES, b"\x01\x02\x03\x04\x05\x06\x07\x08\x09"),
        (SPACES, 2**63),
        (SPACES, "left"),
        ({"action": {"kind": "box", "dtype": "<f4", "shape": [2]}}, [1.0]),
        ({}, {"a": 1}),
        *(
            ({"action": space}, [1, 2])
            for space in (
                5,
                {"kind": "box", "dtype": "<f4", "shape": [2**31]},
                {"kind": "box", "dtype": "<f4", "shape": [2**19 + 1]},
                {"kind": "box", "dtype": "str", "shape": [2]},
            )
        ),
    ],
)
def test_a_value_that_does_not_fit_its_space_makes_the_column_text(
    tmp_path: Path, spaces: dict[str, Any], action: Any
) -> None:
    """Nothing is lost or guessed: the whole column becomes JSON text."""
    records: list[Record] = [
        Step(1, 0, 0, 0, 1, 1, 1.0, 0, HASH, 0, None),
        Step(2, 0, 0, 0, 2, action, 1.0, 0, HASH, 0, None),
    ]
    page = BatchPage({1: spaces}, [frame(records[:1]), frame(records[1:])], "1.worker.2", False)
    with client_of(page) as client:
        client.export(RUN_ID, tmp_path / "run", "parquet")
    written = pq.read_table(tmp_path / "run" / "step.parquet").to_pydict()["action"]
    plain = event_to_builtin(to_event(Batch(1, RUN_ID, 1, "worker", 1, 0, []), records[1]), spaces)
    assert [json.loads(text) for text in written] == [1, plain["action"]]


def test_attempts_with_other_spaces_are_not_mixed_up(tmp_path: Path) -> None:
    """Equal bytes of another dtype are explained by their own attempt's space."""
    raw = struct.pack("<f", 1.5)
    boxes = {
        n: {"observation": {"kind": "box", "dtype": d, "shape": [1]}}
        for n, d in ((1, "<f4"), (2, "<i4"))
    }
    frames = [frame([Step(1, n, 0, 0, 1, 0, 0.0, 0, HASH, 0, raw)], attempt=n) for n in (1, 2)]
    page = BatchPage(boxes, frames, "1.worker.1~2.worker.1", False)
    with client_of(page) as client:
        client.export(RUN_ID, tmp_path / "run", "parquet")
    written = pq.read_table(tmp_path / "run" / "step.parquet").to_pydict()["observation"]
    assert [json.loads(text) for text in written] == [[1.5], [1069547520]]


def test_a_device_or_a_pipe_is_not_replaced_and_a_link_stays(tmp_path: Path) -> None:
    """As root an export to /dev/null would put a file in its place, for every program of the machine."""
    pipe, link, file = tmp_path / "pipe", tmp_path / "link", tmp_path / "file"
    os.mkfifo(pipe)
    link.symlink_to(file)
    with client_of(*PAGES) as client:
        with pytest.raises(OSError, match="no regular file"):
            client.export(RUN_ID, pipe)
        with pytest.raises(OSError, match="no regular file"):
            client.download(RUN_ID, "model.bin", pipe)
        assert client.export(RUN_ID, link) == 9
    assert pipe.is_fifo()
    assert (link.is_symlink(), len(file.read_bytes().splitlines())) == (True, 9)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link", "pipe"]


def test_a_folder_with_files_is_not_written_into(tmp_path: Path) -> None:
    """What is there stays as it is."""
    (tmp_path / "mine.txt").touch()
    with client_of(*PAGES) as client, pytest.raises(ExportRefused, match="new or empty"):
        client.export(RUN_ID, tmp_path, "parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("body", [b"\x00not a frame", zstandard.ZstdCompressor().compress(b"\x93")])
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_damaged_batch_ends_the_export_and_leaves_no_file(
    tmp_path: Path, body: bytes, form: Any
) -> None:
    """A half export under the right name would be believed."""
    page = BatchPage({}, [frame(WORKER), body], "1.worker.7", False)
    with client_of(page) as client, pytest.raises(AnswerInvalid, match="cannot read"):
        client.export(RUN_ID, tmp_path / "run", form)
    assert not list(tmp_path.iterdir())


async def test_the_async_client_exports_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It writes the same file."""
    monkeypatch.setattr(Client, "batches", lambda *_: PAGES[0] if not _[2] else PAGES[1])
    async with AsyncClient(Location("http://127.0.0.1:9", "secret")) as client:
        assert await client.export(RUN_ID, tmp_path / "run.jsonl") == 9


def test_a_column_of_absent_values_takes_no_memory() -> None:
    """Images that were not recorded are nulls over zeros that nobody writes, however many there are."""
    kind, rows = pa.list_(pa.uint8(), 84 * 84 * 4), 4000
    before = _resident_bytes()
    column = _packed([None] * rows, kind)
    taken = _resident_bytes() - before
    assert column is not None
    assert (len(column), column.null_count, column.type) == (rows, rows, kind)
    assert taken < rows * 84 * 84


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
