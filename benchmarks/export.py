"""What an export costs: CPU an event in the gateway and in the command line, and the memory of both.

    var/venvs/gateway/bin/python benchmarks/export.py [--millions N]

Needs `./mosaic sync --dev gateway` and `./mosaic sync cli`.

Method. A nats-server, a store and a gateway process are started in a folder of their own; the store holds one
synthetic run of N million events (85 % steps), written in batches of 1,000. Then `python -m mosaic_cli export` writes
the run as JSON lines, and as Parquet, each as a process of its own. CPU is user and system time: of the command from
its resource usage, of the gateway from /proc. The same events' CPU in the recorder's writer (unpack, validate,
transaction) is measured while the store is filled, so that the ratio is within one run. Memory is the peak resident
size; the gateway's is its growth during the export. One JSON object on stdout.
"""

import argparse
import asyncio
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from gateway import CURSOR, cpu_s, serve_scheduler, start_gateway, wait_up

from mosaic_servicekit.testing import TestBroker, free_port
from mosaic_store import open_writer, read_batch
from mosaic_store.testing import RUN_ID, messages

CLI = Path(__file__).parents[1] / "var/venvs/cli/bin/python"
BATCH = 1000
BATCHES_A_COMMIT = 10


def fill_store(path: Path, events: int) -> float:
    """Store the run. Returns the writer's CPU seconds, without the making of the events."""
    used = 0.0
    with open_writer(path) as writer:
        held = []
        for message in messages(events, BATCH):
            held.append(message)
            if len(held) == BATCHES_A_COMMIT:
                began = time.process_time()
                writer.apply([read_batch(m.payload, m.encoding) for m in held], CURSOR)
                used += time.process_time() - began
                held = []
        writer.apply([read_batch(m.payload, m.encoding) for m in held], CURSOR)
    return used


def peak_mib(pid: int) -> float:
    """Peak resident size of a live process."""
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def export(arguments: list[str], environment: dict[str, str], gateway: int, events: int) -> Any:
    """Run one export and say what it cost."""
    gateway_cpu, gateway_peak = cpu_s(gateway), peak_mib(gateway)
    began = time.perf_counter()
    process = subprocess.Popen(
        [CLI, "-m", "mosaic_cli", "export", RUN_ID, *arguments],
        env={**os.environ, **environment},
        stderr=subprocess.PIPE,
    )
    _, status, usage = os.wait4(process.pid, 0)
    took = time.perf_counter() - began
    said = process.stderr.read().decode() if process.stderr else ""
    if status:
        raise SystemExit(f"export failed: {said}")
    used = usage.ru_utime + usage.ru_stime
    return {
        "seconds": round(took, 1),
        "command_us_an_event": round(used / events * 1e6, 2),
        "gateway_us_an_event": round((cpu_s(gateway) - gateway_cpu) / events * 1e6, 2),
        "command_peak_mib": round(usage.ru_maxrss / 1024),
        "gateway_growth_mib": round(peak_mib(gateway) - gateway_peak),
    }


async def measure(home: Path, events: int) -> dict[str, Any]:
    """Everything."""
    stored = fill_store(home / "db" / "telemetry.sqlite3", events)
    port = free_port()
    with TestBroker(home / "broker") as broker:
        bus = await serve_scheduler(broker.url)
        await bus.connected.wait()
        environment = {
            "MOSAIC_HOME": str(home),
            "MOSAIC_BROKER_URL": broker.url,
            "MOSAIC_GATEWAY_PORT": str(port),
        }
        gateway = start_gateway(home, environment)
        try:
            url = f"http://127.0.0.1:{port}"
            await wait_up(url)
            reach = {
                "MOSAIC_URL": url,
                "MOSAIC_TOKEN_FILE": str(home / "secrets/gateway.token"),
            }
            found: dict[str, Any] = {
                "events": events,
                "writer_us_an_event": round(stored / events * 1e6, 2),
            }
            ways = {
                "jsonl": ["-o", str(home / "run.jsonl")],
                "parquet": ["--parquet", "-o", str(home / "run")],
            }
            for name, arguments in ways.items():
                found[name] = await asyncio.to_thread(export, arguments, reach, gateway.pid, events)
        finally:
            gateway.terminate()
            gateway.wait(timeout=15)
            await bus.close()
    lines = sum(chunk.count(b"\n") for chunk in chunks(home / "run.jsonl"))
    if lines != events:
        raise SystemExit(f"{lines} lines for {events} events")
    found["jsonl"]["bytes_an_event"] = round((home / "run.jsonl").stat().st_size / events, 1)
    size = sum(file.stat().st_size for file in (home / "run").iterdir())
    found["parquet"]["bytes_an_event"] = round(size / events, 1)
    return found


def chunks(path: Path) -> Any:
    """The file, a mebibyte at a time."""
    with path.open("rb") as file:
        while chunk := file.read(2**20):
            yield chunk


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--millions", type=float, default=1.0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measure(Path(folder), int(arguments.millions * 1e6)))
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
