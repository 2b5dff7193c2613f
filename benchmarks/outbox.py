"""Cost of the outbox: what a step event costs the training loop, as a ratio to its bare encoding.

Method: one process, thread CPU time, the variants interleaved in blocks of 20,000 events, minimum over the rounds
(a neighbour can only add). The event is spine's: 8 observation values as a list of floats; `small` is a step at
level `replay` without observation. `bare` builds the msgspec struct and encodes it; `outbox` also appends it;
`write` is the alternative with one write() an event, for comparison; `telemetry` is the whole
`Telemetry.hashed_step` with its checks and its clock; `shipper` is reading, cutting, compressing, for one event.

Run: `<venvs>/workerkit/bin/python benchmarks/outbox.py [--rounds N]`
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from struct import Struct
from zlib import crc32

import zstandard

from mosaic_contracts.stored_spec import StoredSpec
from mosaic_contracts.wire import BatchHead, Step, encode_record, join_batch
from mosaic_workerkit.outbox import CommittedMark, OutboxReader, OutboxWriter
from mosaic_workerkit.telemetry import Telemetry

BLOCK = 20_000
RUN_ID = "01K5ZZZZZZZZZZZZZZZZZZZZZZ"
OBSERVATION = [0.123 * i for i in range(8)]
HASH = b"12345678"


def timed(act: Callable[[], None]) -> float:
    """Microseconds of thread CPU time for one event of a block."""
    began = time.thread_time()
    act()
    return (time.thread_time() - began) / BLOCK * 1e6


def variants(folder: Path, observation: list[float] | None) -> dict[str, Callable[[], None]]:
    """One block of each way."""
    writer = OutboxWriter(folder / "outbox", RUN_ID, 1, "worker", 2**30)
    mark = CommittedMark(folder / "outbox")
    spec = StoredSpec(worker="synthetic", algorithm="a", environment="e")
    telemetry = Telemetry(folder, RUN_ID, 1, spec)
    telemetry.config({})
    told = CommittedMark(folder / "outbox" / "1" / "worker")
    reader = OutboxReader(folder / "outbox")
    fd = os.open(folder / "plain", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    pack = Struct("<II").pack
    compress = zstandard.ZstdCompressor(level=1).compress

    def bare() -> None:
        for seq in range(BLOCK):
            encode_record(Step(seq, seq, 0, 1, seq, 1, 1.0, 0, HASH, 0, observation))

    def outbox() -> None:
        append = writer.append
        for seq in range(BLOCK):
            append(encode_record(Step(seq, seq, 0, 1, seq, 1, 1.0, 0, HASH, 0, observation)))

    def write() -> None:
        for seq in range(BLOCK):
            record = encode_record(Step(seq, seq, 0, 1, seq, 1, 1.0, 0, HASH, 0, observation))
            os.write(fd, pack(len(record), crc32(record)) + record)

    def whole() -> None:
        step = telemetry.hashed_step
        for seq in range(BLOCK):
            step(0, 1, seq, 1, 1.0, 0, HASH, 0, observation)
        told.move(telemetry.next_seq - 1)

    def shipper() -> None:
        while region := reader.read():
            head = BatchHead(RUN_ID, 1, "worker", region.seq0, region.n)
            compress(join_batch(head, region.t0_us, region.records))
        mark.move(reader.next_seq - 1)
        os.ftruncate(fd, 0)

    return {"bare": bare, "outbox": outbox, "shipper": shipper, "write": write, "telemetry": whole}


def measure(rounds: int, observation: list[float] | None) -> dict[str, float]:
    """Minimum of each way."""
    with tempfile.TemporaryDirectory() as name:
        ways = variants(Path(name), observation)
        best = dict.fromkeys(ways, float("inf"))
        for _ in range(rounds):
            for way, act in ways.items():
                best[way] = min(best[way], timed(act))
    return best


def main() -> None:
    """Print microseconds and ratios as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    for event, observation in (("spine", OBSERVATION), ("small", None)):
        best = measure(rounds, observation)
        result = {
            "event": event,
            "us": {way: round(value, 3) for way, value in best.items()},
            "over_bare": {way: round(value / best["bare"], 2) for way, value in best.items()},
        }
        print(json.dumps(result))


if __name__ == "__main__":
    main()
