"""How fast the recorder drains a stream: real nats-server, real recorder process, synthetic steps.

    var/venvs/recorder/bin/python benchmarks/recorder.py [--events N] [--batch N]

Method: the stream is filled first, with the recorder off (batches of `--batch` events, zstd level 1; 85 % steps).
Then `python -m mosaic_recorder` is started; the clock runs from its first commit to the commit of the last event, so
that the start of Python does not count. CPU is the recorder process's own, of its whole life, over all events. One
JSON object on stdout.
"""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nats

from mosaic_contracts import subjects
from mosaic_contracts.stack import TELEMETRY_DB
from mosaic_contracts.wire import BATCH_HEADER, ENCODING_HEADER
from mosaic_recorder.stream import stream_config
from mosaic_servicekit.testing import TestBroker
from mosaic_store import Reader, StoreMissing, open_reader
from mosaic_store.testing import RUN_ID, messages


async def fill(url: str, events: int, size: int) -> tuple[int, int]:
    """Publish everything; number of messages and bytes."""
    client = await nats.connect(url)
    jetstream = client.jetstream(timeout=30)
    await jetstream.add_stream(stream_config())
    count = sent_bytes = 0
    for m in messages(events, size):
        headers = {BATCH_HEADER: m.head.header(), ENCODING_HEADER: m.encoding}
        await jetstream.publish(subjects.events(RUN_ID), m.payload, headers=headers)
        count, sent_bytes = count + 1, sent_bytes + len(m.payload)
    await client.close()
    return count, sent_bytes


def stored_events(reader: Reader) -> int:
    """Events in the store now."""
    try:
        return reader.summary(RUN_ID).events
    except StoreMissing:
        return 0


def drain(url: str, home: Path, events: int) -> dict[str, float]:
    """Start the recorder, wait for the last event, stop it."""
    environment = {**os.environ, "MOSAIC_HOME": str(home), "MOSAIC_BROKER_URL": url}
    began = time.perf_counter()
    command = [sys.executable, "-m", "mosaic_recorder"]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    first_at, first = 0.0, 0
    with open_reader(home / TELEMETRY_DB) as reader:
        while (stored := stored_events(reader)) < events:
            if stored and not first:
                first_at, first = time.perf_counter(), stored
            time.sleep(0.005)
            if process.poll() is not None:
                raise SystemExit(f"the recorder ended with {process.returncode}")
    ended = time.perf_counter()
    process.send_signal(signal.SIGTERM)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"the recorder ended with status {status}")
    cpu = usage.ru_utime + usage.ru_stime
    return {
        "start_to_first_commit_s": round(first_at - began, 3),
        "drain_events_per_s": round((events - first) / (ended - first_at)),
        "recorder_cpu_us_per_event": round(1e6 * cpu / events, 2),
        "recorder_rss_mb": round(usage.ru_maxrss / 1024),
    }


def measure(events: int, size: int) -> dict[str, float]:
    """One filling and one draining."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with TestBroker(home / "broker") as broker:
            count, sent_bytes = asyncio.run(fill(broker.url, events, size))
            result = drain(broker.url, home / "home", events)
        store_bytes = sum(p.stat().st_size for p in (home / "home" / "db").iterdir())
    return {
        "events": events,
        "messages": count,
        "bytes_per_event_on_the_wire": round(sent_bytes / events, 1),
        "bytes_per_event_stored": round(store_bytes / events, 1),
        **result,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--batch", type=int, default=1000)
    options = parser.parse_args()
    print(json.dumps(measure(options.events, options.batch), indent=1))


if __name__ == "__main__":
    main()
