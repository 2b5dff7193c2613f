"""The outbox: what was appended is read, and only what was appended."""

import os
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
    """A reader goes back and forth over segments, also after it forgot places and segments were freed."""
    folder = tmp_path / "w"
    writer = open_writer(folder, quota=64 * MIB)
    for seq in range(1, 4001):
        writer.append(metric(seq, pad=8000))
    reader, mark = OutboxReader(folder), CommittedMark(folder)
    for step, start in enumerate((1, 3999, 2, 2500, 2100, 2777, 4001, 3000, 2600)):
        if step == 4:
            mark.move(2099)
            reader.forget_below(2100)
        reader.seek(start)
        seen = start
        while region := reader.read(max_events=300):
            assert region.seq0 == seen
            seen += region.n
        assert seen == 4001
    writer.close()


def test_tail_sees_each_new_record(tmp_path: Path) -> None:
    """A reader at the end gets what is appended next, without opening anew."""
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
    """A region holds at most the asked events and bytes, and a largest event still passes."""
    writer = open_writer(tmp_path / "w")
    for seq in range(1, 11):
        writer.append(metric(seq, pad=1000))
    writer.append(b"z" * 2 * MIB)
    reader = OutboxReader(tmp_path / "w")
    sizes = []
    while region := reader.read(max_events=4, max_bytes=2 * MIB + 500):
        sizes.append(region.n)
    assert sizes == [4, 4, 2, 1]
    with pytest.raises(EventTooLarge, match="artifact"):
        writer.append(b"z" * (4 * MIB))
    writer.append(metric(12))
    writer.close()


def test_torn_tail_is_not_read(tmp_path: Path) -> None:
    """A frame cut short or not yet whole ends the reading, and is no error."""
    writer = open_writer(tmp_path / "w")
    for seq in range(1, 4):
        writer.append(metric(seq))
    end = writer._at
    path = tmp_path / "w" / segment_name(1)
    good = metric(4)
    frame = len(good).to_bytes(4, "little") + b"\0\0\0\0" + good[:5]
    with path.open("r+b") as file:
        file.seek(end)
        file.write(frame)
    assert [r.seq for r in read_all(tmp_path / "w")] == [1, 2, 3]
    os.truncate(path, end + 6)
    assert [r.seq for r in read_all(tmp_path / "w")] == [1, 2, 3]


def test_damage_in_the_middle_is_told(tmp_path: Path) -> None:
    """A flipped byte before a later segment cannot come from a kill: it raises and names the seq."""
    writer = open_writer(tmp_path / "w", quota=64 * MIB)
    for seq in range(1, 3001):
        writer.append(metric(seq, pad=8000))
    writer.close()
    with (tmp_path / "w" / segment_name(1)).open("r+b") as file:
        file.seek(100_000)
        file.write(b"!!!!")
    with pytest.raises(OutboxCorrupted, match="damaged"):
        read_all(tmp_path / "w")


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


def test_wait_at_quota(tmp_path: Path) -> None:
    """At the quota the writer stands still, says so, and goes on as soon as a segment is freed."""
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
        began = time.monotonic()
        mark.move(seen)
        if not done.is_set():
            time.sleep(0.001)
    assert time.monotonic() - began < 0.5, "woken by the pipe, not by the bound of a second"
    assert time.thread_time() - cpu < 5
    thread.join()
    assert not (folder / WAITING_FILE).exists()
    assert seen == 4000
    writer.close()


def test_thin_drops_only_offers(tmp_path: Path) -> None:
    """With policy thin an offered record is dropped and counted at the quota, and taken after room is made."""
    folder = tmp_path / "w"
    writer = open_writer(folder, policy=FullOutboxPolicy.THIN)
    kept = 0
    while writer.offer(metric(writer.next_seq, pad=8000)):
        kept += 1
    assert writer.thinned == 1
    assert writer.next_seq == kept + 1
    assert not writer.has_room()
    CommittedMark(folder).move(kept)
    deadline = time.monotonic() + 2
    while not writer.has_room():
        assert time.monotonic() < deadline
    assert writer.offer(metric(writer.next_seq))
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
    told = process.stdout.read(8)
    time.sleep(delay_s)
    process.send_signal(signal.SIGKILL)
    told += process.stdout.read()
    process.wait()
    process.stdout.close()
    last_told = int.from_bytes(told[len(told) // 8 * 8 - 8 : len(told) // 8 * 8], "little")
    read = read_all(tmp_path / "w")
    assert len(read) >= last_told > 0
    assert all(r.seq == i and r.value == i / 2 for i, r in enumerate(read, 1))
