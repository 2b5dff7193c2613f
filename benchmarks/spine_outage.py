"""How long the spine takes to catch up after the broker was away."""

import os
import signal
import socket
import statistics
import sys
import time
from typing import Any
from urllib.parse import urlsplit

import psutil
from warm_stack import WarmStack, until_stored

from mosaic_store import Reader

AWAY_S = 20.0
RATE = 60_000
FRESH_S = 1.0
WARM_S = 5.0


def measure(
    stack: WarmStack, rounds: int, away_s: float = AWAY_S, offered: int = RATE
) -> dict[str, Any]:
    """Seconds of catching up over seconds of outage, median of rounds. No round may lose an event."""
    taken = [_outage(stack, away_s, offered) for _ in range(rounds)]
    catch_up = [seconds for seconds, _ in taken]
    return {
        "outage_s": away_s,
        "offered_per_s": offered,
        "load_1min": round(os.getloadavg()[0], 1),
        "lost": 0,  # or the round would have raised
        "catch_up_s": [round(s, 2) for s in catch_up],
        "over_outage_percent": round(100 * statistics.median(catch_up) / away_s, 1),
        "events_per_s": round(statistics.median(rate for _, rate in taken)),
        "targets": {"over_outage_percent": 20},
    }


def _outage(stack: WarmStack, away_s: float, offered: int) -> tuple[float, float]:
    view = stack.submit(
        "synthetic",
        "synthetic",
        "Synthetic-v0",
        steps=10**9,
        parameters={"rate": offered, "seconds": 600 + away_s},
    )
    with stack.reader() as reader:
        until_stored(reader, view.run_id, int(offered * WARM_S), 60)
        supervisor = stack.stack_file().supervisor_pid
        broker = psutil.Process(stack.service_pid("broker"))
        os.kill(supervisor, signal.SIGSTOP)  # or it would start the broker again at once
        try:
            broker.kill()
            time.sleep(away_s)  # the outage itself
        finally:
            os.kill(supervisor, signal.SIGCONT)
        _until_listening(stack.stack_file().broker_url)
        back = time.monotonic()
        while _age_s(reader, view.run_id) > FRESH_S:
            if time.monotonic() > back + 120 + away_s:
                raise TimeoutError(f"the store did not catch up within {120 + away_s:.0f} s")
            time.sleep(0.02)  # a commit in another process is no event here
        seconds = time.monotonic() - back
        summary = reader.summary(view.run_id)
    with stack.client() as client:
        client.stop(view.run_id)
    final = stack.wait_final(view.run_id)
    if final.summary is None or final.summary.gaps:
        raise RuntimeError(f"events were lost: {final.summary}")
    rate = summary.events / ((summary.last_t or 0.0) - (summary.first_t or 0.0))
    print(f"  caught up in {seconds:.2f} s at {rate:,.0f} events/s", file=sys.stderr)
    return seconds, rate


def _age_s(reader: Reader, run_id: str) -> float:
    last = reader.summary(run_id).last_t
    return time.time() - last if last is not None else float("inf")


def _until_listening(url: str) -> None:
    place = urlsplit(url)
    while True:
        try:
            socket.create_connection((place.hostname, place.port or 0), 1).close()
            return
        except OSError:
            time.sleep(0.01)  # a port that opens is no event here
