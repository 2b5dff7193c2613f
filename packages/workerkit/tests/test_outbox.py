"""The outbox: what was appended is read, and only what was appended."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.run_folder import MIB, RUN_ID

from mosaic_contracts.spec import FullOutboxPolicy
from mosaic_contracts.wire import BatchHead, Metric, decode_batch, encode_record, join_batch
from mosaic_workerkit.errors import (
    ContractViolation,
    EventTooLarge,
    OutboxCorrupted,
    OutboxInUse,
    OutboxWriteFailed,
)
from mosaic_workerkit.outbox import CommittedMark, OutboxReader, OutboxWriter
from mosaic_workerkit.outbox.segment import WAITING_FILE, segment_name, segment_seqs

QUOTA = 16 * MIB


def open_writer(
    folder: Path, quota: int = QUOTA, policy: FullOutboxPolicy = FullOutboxPolicy.WAIT
) -> OutboxWriter:
    return OutboxWriter(folder, RUN_ID, 1, "worker", quota, policy)


def metric(seq: int, pad: int = 0) -> bytes:
    return encode_record(Metric(seq, seq, "x" * (pad + 1), seq, seq / 2))


def read_all(folder: Path, start: int = 1) -> list[Metric]:
    reader = OutboxReader(folder)
    reader.seek(start)
    records: list[Metric] = []
    while region := reader.read():
        head = BatchHead(RUN_ID, 1, "worker", region.seq0, region.n)
        batch = decode_batch(join_batch(head, region.t0_us, region.records))
        records += [record for record in batch.records if isinstance(record, Metric)]
    return records


def test_reads_what_was_written(tmp_path: Path) -> None:
    """Records come back in order, with their values, over several segments and from any seq."""
    writer = open_writer(tmp_path / "w", quota=64 * MIB)
    for seq in range(1, 3001):
        writer.append(metric(seq, pad=8000))
    assert len(segment_seqs(tmp_path / "w")) > 1
    for start in (1, 2, 1999, 3000):
        read = read_all(tmp_path / "w", start)
        assert [r.seq for r in read] == list(range(start, 3001))
        assert all(r.value == r.seq / 2 for r in read)
    assert read_all(tmp_path / "w", 3001) == []
    writer.close()
    assert len(read_all(tmp_path / "w")) == 3000


def test_seek_back(tmp_path: Path) -> None:
    """A reader goes back and forth over segments, into the middle of regions, also after segments were freed."""
    folder = tmp_path / "w"
    writer = open_writer(folder, quota=64 * MIB)
    for seq in range(1, 4001):
        writer.append(metric(seq, pad=8000))
    reader, mark = OutboxReader(folder), CommittedMark(folder)
    for step, start in enumerate((1, 3999, 2, 2500, 2100, 2777, 4001, 3000, 2600)):
        if step == 4:
            mark.move(2099)
        reader.seek(start)
        seen = start
        while region := reader.read():
            assert region.seq0 == seen
            seen += region.n
        assert seen == 4001
    writer.close()


def test_tail_sees_each_new_record(tmp_path: Path) -> None:
    """A reader at the end gets what is appended next, without opening again."""
    writer = open_writer(tmp_path / "w")
    reader = OutboxReader(tmp_path / "w")
    assert reader.read() is None
    for seq in range(1, 50):
        writer.append(metric(seq))
        region = reader.read()
        assert region is not None
        assert (region.seq0, region.n) == (seq, 1)
    writer.close()


def test_bounds_of_a_region(tmp_path: Path) -> None:
    """A region holds at most 1,000 events and 2 MiB, and a largest event still passes."""
    writer = open_writer(tmp_path / "w")
    for seq in range(1, 2051):
        writer.append(metric(seq))
    for seq in range(2051, 2054):
        writer.append(metric(seq, pad=MIB))
    writer.append(b"z" * 2 * MIB)
    reader = OutboxReader(tmp_path / "w")
    regions = []
    while region := reader.read():
        regions.append((region.n, len(region.records) <= 2 * MIB, region.is_full))
    assert [n for n, _, _ in regions[:2]] == [1000, 1000]
    assert all(fits for _, fits, _ in regions)
    assert sum(n for n, _, _ in regions) == 2054
    assert regions[-1] == (1, True, False)
    with pytest.raises(EventTooLarge, match="artifact"):
        writer.append(b"z" * (4 * MIB))
    writer.append(metric(2055))
    writer.close()


def test_a_cut_behind_what_was_read_is_passed(tmp_path: Path) -> None:
    """A cut that the writer notes right where a reader's tail, or a seek, has ended makes no empty region."""
    writer = open_writer(tmp_path / "w")
    for seq in range(1, 4):
        writer.append(metric(seq))
    tail, sought = OutboxReader(tmp_path / "w"), OutboxReader(tmp_path / "w")
    assert tail.read() is not None
    sought.seek(4)
    writer.append(b"z" * 2 * MIB)  # does not fit behind them: a cut comes before it
    for reader in (tail, sought):
        region = reader.read()
        assert region is not None
        assert (region.seq0, region.n, len(region.records)) == (4, 1, 2 * MIB)
    writer.close()


def test_region_splits_into_its_records(tmp_path: Path) -> None:
    """What was appended one by one comes back one by one, and what is no record is refused."""
    writer = open_writer(tmp_path / "w")
    written = [metric(seq) for seq in range(1, 4)]
    for record in written:
        writer.append(record)
    region = OutboxReader(tmp_path / "w").read()
    assert region is not None
    assert region.split() == written
    with pytest.raises(OutboxCorrupted, match="1 to 3"):
        region._replace(records=region.records[:-1]).split()
    writer.close()


@pytest.mark.parametrize("is_read_before", [True, False])
def test_a_deleted_segment_is_written_again(tmp_path: Path, is_read_before: bool) -> None:
    """A segment whose file was deleted is whole again under its name; a reader goes on without a loss or a double."""
    folder = tmp_path / "outbox/w"
    writer, reader = open_writer(folder), OutboxReader(folder)
    seqs: list[int] = []

    def read() -> None:
        while region := reader.read():
            seqs.extend(range(region.seq0, region.seq0 + region.n))

    for seq in range(1, 101):
        writer.append(metric(seq))
    if is_read_before:
        read()
    shutil.rmtree(tmp_path / "outbox")
    for seq in range(101, 201):
        writer.append(metric(seq))
    if is_read_before:
        read()
        assert reader.last_seq() == 200
    assert writer.restore()
    assert not writer.restore()
    for seq in range(201, 301):
        writer.append(metric(seq))
    read()
    assert seqs == list(range(1, 301))
    assert not reader.writer_is_dead()
    shutil.rmtree(tmp_path / "outbox")
    writer.close()
    read()
    assert reader.writer_is_dead()
    assert [record.value for record in read_all(folder)] == [seq / 2 for seq in range(1, 301)]


def test_the_mark_is_kept_where_the_folder_was_deleted(tmp_path: Path) -> None:
    """The shipper goes on when the program deleted its output folder, and makes nothing in it that is in the way."""
    (tmp_path / "outbox").mkdir()
    mark = CommittedMark(tmp_path / "outbox")
    (tmp_path / "outbox").rmdir()
    mark.move(7)
    assert mark.seq == 7
    assert list(tmp_path.iterdir()) == []


def test_unpublished_tail_is_not_read(tmp_path: Path) -> None:
    """Bytes behind what was published are no records, and no error: a writer was killed between its two stores."""
    writer = open_writer(tmp_path / "w")
    for seq in range(1, 4):
        writer.append(metric(seq))
    with (tmp_path / "w" / segment_name(1)).open("r+b") as file:
        file.seek(writer._at)
        file.write(metric(4)[:5])
    assert [r.seq for r in read_all(tmp_path / "w")] == [1, 2, 3]
    assert OutboxReader(tmp_path / "w").last_seq() == 3


def test_a_file_cut_short_is_reported(tmp_path: Path) -> None:
    """A segment that ends before what it says was published cannot come from a kill."""
    writer = open_writer(tmp_path / "w")
    for seq in range(1, 4):
        writer.append(metric(seq))
    end = writer._at
    writer.close()
    os.truncate(tmp_path / "w" / segment_name(1), end - 3)
    with pytest.raises(OutboxCorrupted, match="cut short"):
        read_all(tmp_path / "w")


def test_damage_at_rest_is_reported(tmp_path: Path) -> None:
    """A flipped byte in a region that was finished raises and names the seq, in the middle and in the last one."""
    for place in (0.1, 0.999):
        folder = tmp_path / str(place)
        writer = open_writer(folder, quota=64 * MIB)
        for seq in range(1, 3001):
            writer.append(metric(seq, pad=8000))
        writer.close()
        with (folder / segment_name(segment_seqs(folder)[-1 if place > 0.5 else 0])).open(
            "r+b"
        ) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(int(size * place))
            file.write(b"!!!!")
        with pytest.raises(OutboxCorrupted, match="damaged"):
            read_all(folder)


def test_reader_lags_where_stores_may_be_seen_out_of_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a weakly ordered machine a look takes what the look before saw published; nothing is left in the end."""
    monkeypatch.setattr("mosaic_workerkit.outbox.reader._KEEPS_STORE_ORDER", False)
    writer = open_writer(tmp_path / "w")
    reader = OutboxReader(tmp_path / "w")
    writer.append(metric(1))
    assert reader.read() is None
    writer.append(metric(2))
    region = reader.read()
    assert region is not None
    assert region.n == 1
    region = reader.read()
    assert region is not None
    assert (region.seq0, region.n) == (2, 1)
    writer.close()


def test_one_writer_an_attempt(tmp_path: Path) -> None:
    """A second writer is refused while the first lives and after its death."""
    writer = open_writer(tmp_path / "w")
    with pytest.raises(OutboxInUse, match="living writer"):
        open_writer(tmp_path / "w")
    assert not OutboxReader(tmp_path / "w").writer_is_dead()
    writer.close()
    assert OutboxReader(tmp_path / "w").writer_is_dead()
    with pytest.raises(OutboxInUse, match="new attempt"):
        open_writer(tmp_path / "w")


def test_freed_only_up_to_the_mark(tmp_path: Path) -> None:
    """Only sealed segments wholly at or below the mark go; the mark survives and never moves back."""
    folder = tmp_path / "w"
    writer = open_writer(folder, quota=64 * MIB)
    for seq in range(1, 5001):
        writer.append(metric(seq, pad=8000))
    firsts = segment_seqs(folder)
    mark = CommittedMark(folder)
    assert mark.move(firsts[1] - 2) == 0
    assert mark.move(firsts[1] - 1) == 1
    assert mark.move(5000) == len(firsts) - 2
    assert mark.move(3) == 0
    assert CommittedMark(folder).seq == 5000
    writer.close()
    assert mark.move(5000, is_all=True) == 1
    assert segment_seqs(folder) == []
    assert CommittedMark(folder).seq == 5000


def test_wait_at_quota(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the quota the writer stands still, says so, and goes on as soon as a segment is freed: by the pipe alone."""
    monkeypatch.setattr("mosaic_workerkit.outbox.writer._WAIT_CHECK_MS", 600_000)
    folder = tmp_path / "w"
    writer = open_writer(folder)
    done = threading.Event()

    def write() -> None:
        for seq in range(1, 4001):
            writer.append(metric(seq, pad=8000))
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    while not (folder / WAITING_FILE).exists():
        assert not done.wait(0.01)
    cpu = time.thread_time()
    assert sum(p.stat().st_size for p in folder.glob("*.seg")) <= QUOTA
    reader, mark, seen = OutboxReader(folder), CommittedMark(folder), 0
    while not done.is_set() or seen < 4000:
        while region := reader.read():
            seen = region.seq0 + region.n - 1
        mark.move(seen)
        if not done.is_set():
            time.sleep(0.001)
    assert time.thread_time() - cpu < 5
    thread.join()
    assert not (folder / WAITING_FILE).exists()
    assert seen == 4000
    writer.close()


def test_thin_drops_only_what_may_go(tmp_path: Path) -> None:
    """With policy thin a record that may go is dropped and counted at the quota, and taken after room is made."""
    folder = tmp_path / "w"
    writer = open_writer(folder, policy=FullOutboxPolicy.THIN)
    kept = 0
    while writer.append(metric(writer.next_seq, pad=8000), may_drop=True):
        kept += 1
    assert writer.thinned == 1
    assert writer.next_seq == kept + 1
    assert not writer.has_room()
    CommittedMark(folder).move(kept)
    deadline = time.monotonic() + 60
    while not writer.has_room():
        assert time.monotonic() < deadline
    assert writer.append(metric(writer.next_seq), may_drop=True)
    writer.close()


def test_forked_child_cannot_write(tmp_path: Path) -> None:
    """A child made by fork is refused, and its death does not free the parent's lock."""
    writer = open_writer(tmp_path / "w")
    writer.append(metric(1))
    pid = os.fork()
    if pid == 0:
        try:
            writer.append(metric(2))
        except ContractViolation:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert not OutboxReader(tmp_path / "w").writer_is_dead()
    writer.append(metric(2))
    assert [r.seq for r in read_all(tmp_path / "w")] == [1, 2]
    writer.close()


def test_full_disk_is_a_clear_error(small_disk: Path) -> None:
    """ENOSPC comes as an error at a segment's start; everything appended before is readable."""
    writer = open_writer(small_disk / "w", quota=64 * MIB)

    def fill() -> None:
        while True:
            writer.append(metric(writer.next_seq, pad=8000))

    with pytest.raises(OutboxWriteFailed, match="free space"):
        fill()
    last = writer.next_seq - 1
    assert last > 500
    with pytest.raises(OutboxWriteFailed):
        writer.append(metric(last + 1))
    (small_disk / "filler").unlink()
    CommittedMark(small_disk / "w").move(0)
    writer.append(metric(last + 1))
    writer.close()
    assert [r.seq for r in read_all(small_disk / "w")] == list(range(1, last + 2))


KILLED = """
import os, sys
from pathlib import Path
from mosaic_contracts.wire import Metric, encode_record
from mosaic_workerkit.outbox import OutboxWriter
writer = OutboxWriter(Path(sys.argv[1]), "01K5ZZZZZZZZZZZZZZZZZZZZZZ", 1, "worker", 2**28)
while True:
    seq = writer.next_seq
    writer.append(encode_record(Metric(seq, seq, "m", seq, seq / 2)))
    if seq % 64 == 0:
        os.write(1, seq.to_bytes(8, "little"))
"""


@pytest.mark.parametrize("delay_s", [0.05, 0.17, 0.31])
def test_nothing_appended_is_lost_by_sigkill(tmp_path: Path, delay_s: float) -> None:
    """After SIGKILL at full speed every record whose append returned is there with its value."""
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path / "w")], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    printed = process.stdout.read(8)
    time.sleep(delay_s)
    process.send_signal(signal.SIGKILL)
    printed += process.stdout.read()
    process.wait()
    process.stdout.close()
    last_printed = int.from_bytes(
        printed[len(printed) // 8 * 8 - 8 : len(printed) // 8 * 8], "little"
    )
    read = read_all(tmp_path / "w")
    assert len(read) >= last_printed > 0
    assert all(r.seq == i and r.value == i / 2 for i, r in enumerate(read, 1))
