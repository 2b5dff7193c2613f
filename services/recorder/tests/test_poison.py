"""What does not validate is set aside, said, and passed."""

import asyncio
from typing import Any

import pytest
import zstandard

from mosaic_contracts import subjects
from mosaic_contracts.wire import BATCH_HEADER, ENCODING_HEADER, BatchHead
from mosaic_recorder.decode import Arrival, decode
from mosaic_recorder.testing import Publisher, RecorderProcess, ask_status, wait_events, wait_status
from mosaic_servicekit.bus import Bus
from mosaic_store import Quarantined, StoredBatch
from mosaic_store.testing import RUN_ID, Message, message

OTHER_RUN = "01JGXSYNTHET1CRVN000000009"
BOMB = zstandard.ZstdCompressor().compress(bytes(64 * 2**20))


def arrival(m: Message, **changes: Any) -> Arrival:
    """A good message, changed."""
    headers = {BATCH_HEADER: m.head.header(), ENCODING_HEADER: m.encoding}
    good = Arrival(1, subjects.events(RUN_ID), headers, m.payload)
    return good._replace(**changes)


def test_good_message_is_a_batch() -> None:
    """The message that the cases below spoil is good itself, with and without its header."""
    assert isinstance(decode(arrival(message(1, 5)), 0), StoredBatch)
    bare = arrival(message(1, 5), headers={ENCODING_HEADER: "zstd"})
    assert isinstance(decode(bare, 0), StoredBatch)


@pytest.mark.parametrize(
    ("spoilt", "reason"),
    [
        (arrival(message(1, 5), payload=b""), "not a zstd frame"),
        (arrival(message(1, 5), payload=b"rubbish"), "not a zstd frame"),
        (arrival(message(1, 5), payload=message(1, 5).payload[:-5]), "not a zstd frame"),
        (arrival(message(1, 5), payload=message(1, 5).payload * 2), "not a zstd frame"),
        (arrival(message(1, 5), payload=BOMB), "more than a batch may have"),
        (arrival(message(1, 5), payload=message(1, 6).payload), "header says"),
        (arrival(message(1, 5), payload=message(1, 5, OTHER_RUN).payload), OTHER_RUN),
        (arrival(message(1, 5, OTHER_RUN)), OTHER_RUN),
        (arrival(message(1, 5), subject="mosaic.v1.events.*"), "names no run"),
        (arrival(message(1, 5), headers={ENCODING_HEADER: "lz4"}), "encoding 'lz4'"),
        (arrival(message(1, 5), headers={BATCH_HEADER: "9 x"}), "batch header"),
        (arrival(message(1, 5), headers={}), ""),
    ],
)
def test_spoilt_message_is_set_aside(spoilt: Arrival, reason: str) -> None:
    """Whatever is wrong with a message, it is set aside with a reason that names it, and never raises."""
    read = decode(spoilt, 7)
    assert isinstance(read, Quarantined)
    assert reason in read.reason
    assert (read.payload, read.at_us) == (spoilt.payload, 7)


@pytest.mark.broker
async def test_poison_does_not_hold_up_the_stream(
    recorder: RecorderProcess, bus: Bus, publisher: Publisher
) -> None:
    """Good batches around a poisoned one are stored, its range counts as handled, and it is shown once."""
    recorder.start()
    await wait_status(bus, lambda status: status.accepting)
    poison = Message(BatchHead(RUN_ID, 1, "worker", 101, 100), BOMB)
    await publisher.send([message(1, 100), poison, poison, message(201, 300)])
    with recorder.reader() as reader:
        await asyncio.to_thread(wait_events, reader, 200)
        (mark,) = reader.marks(RUN_ID)
        assert (mark.next_seq, mark.missing) == (301, 0)
        assert [event["seq"] for event in reader.events(RUN_ID).events] == [
            *range(1, 101),
            *range(201, 301),
        ]
        (shown,) = reader.quarantine(RUN_ID)
        assert "more than a batch may have" in shown["reason"]
        assert shown["batch"] == poison.head.header()
        assert reader.summary(RUN_ID).quarantined == 1
    assert (await ask_status(bus)).quarantined == 1
