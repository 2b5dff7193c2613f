"""The live way: how late a client sees an event, and whether one that never reads harms the others."""

import socket
import statistics
import sys
import threading
import time
from typing import Any

import msgspec
import numpy as np
from warm_stack import WarmStack
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from mosaic_contracts.live import SUBPROTOCOL_MSGPACK, TICK_S, Subscribe

LATENCY_RATE = 120_000
SETTLE_S = 3.0
LATENCY_S = 10.0
CLIENTS = 4
CLIENTS_RATE = 20_000
PHASE_S = 6.0
PHASE_SETTLE_S = 2.0
STALL_S = 10.0

decode_frame = msgspec.msgpack.Decoder().decode


def measure_latency(stack: WarmStack, rounds: int) -> dict[str, Any]:
    """p50 and p99 from the worker's call to the decoded frame, median of rounds."""
    taken = [_latency(stack) for _ in range(rounds)]
    p99 = statistics.median(one["p99_ms"] for one in taken)
    return {
        "offered_events_per_s": LATENCY_RATE,
        "received_events_per_s": [one["events_per_s"] for one in taken],
        "missed": [one["missed"] for one in taken],
        "p50_ms": statistics.median(one["p50_ms"] for one in taken),
        "p99_ms": p99,
        "p99_ms_rounds": [one["p99_ms"] for one in taken],
        "p99_over_tick": round(p99 / (1000 * TICK_S), 2),
        "targets": {"p99_over_tick": 3},
    }


def measure_stalled(stack: WarmStack, rounds: int) -> dict[str, Any]:
    """Measure the rate of healthy clients while another one never reads, over their rate without it."""
    run_id = paced_run(
        stack, CLIENTS_RATE, 60 + rounds * (STALL_S + 4 * (PHASE_S + PHASE_SETTLE_S))
    )
    clients = [Listener(stack, run_id) for _ in range(CLIENTS)]
    alone: list[float] = []
    beside: list[float] = []
    missed = 0
    time.sleep(SETTLE_S)
    for _ in range(rounds):
        alone += _rates(clients)
        stalled = open_live(stack, run_id, receive_bytes=4096)
        time.sleep(STALL_S)  # until the buffers of the sockets between are full
        beside += _rates(clients)
        missed += _missed_of(stalled)
    for client in clients:
        client.close()
    with stack.client() as client:
        client.stop(run_id)
    stack.wait_final(run_id)
    return {
        "clients": CLIENTS,
        "offered_events_per_s": CLIENTS_RATE,
        "alone_events_per_s": round(statistics.median(alone)),
        "beside_stalled_events_per_s": round(statistics.median(beside)),
        "worst_beside_events_per_s": round(min(beside)),
        "healthy_percent": round(100 * statistics.median(beside) / statistics.median(alone), 1),
        "missed_by_healthy": sum(client.missed for client in clients),
        "missed_by_stalled": missed,
        "targets": {"healthy_percent": 99},
    }


class Listener:
    """A client that reads and decodes everything, in a thread of its own."""

    def __init__(self, stack: WarmStack, run_id: str) -> None:
        self.events = 0
        self.missed = 0
        self._socket = open_live(stack, run_id)
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def close(self) -> None:
        """Leave."""
        self._socket.close()
        self._thread.join()

    def _listen(self) -> None:
        for data in self._socket:
            frame = decode_frame(data)
            if frame["op"] == "events":
                self.events += len(frame["events"])
                self.events += sum(len(c["seq"]) for c in frame["columns"].values())
            elif frame["op"] == "missed":
                self.missed += frame["count"]


def _rates(clients: list[Listener]) -> list[float]:
    time.sleep(PHASE_SETTLE_S)  # what the change of clients stirred up
    before, began = [client.events for client in clients], time.perf_counter()
    time.sleep(PHASE_S)  # the time that is measured over
    took = time.perf_counter() - began
    return [(c.events - b) / took for c, b in zip(clients, before, strict=True)]


def _missed_of(stalled: ClientConnection) -> int:
    """Read what the stalled client was sent. Return how many events the gateway reports as missed.

    1: the gateway dropped the client instead.


    Raises:
        RuntimeError: it missed nothing, so it was never stalled.
    """
    count = 0
    for _ in range(1000):
        try:
            frame = decode_frame(stalled.recv(timeout=2))
        except TimeoutError:
            break
        except ConnectionClosed:
            count = 1
            break
        if frame["op"] == "missed":
            count = frame["count"]
            break
    stalled.close()
    if not count:
        raise RuntimeError("the client that did not read missed nothing: it was not stalled")
    return int(count)


def paced_run(stack: WarmStack, rate: int, seconds: float) -> str:
    view = stack.submit(
        "synthetic",
        "synthetic",
        "Synthetic-v0",
        steps=10**9,
        parameters={"rate": rate, "seconds": seconds},
    )
    stack.wait_stored(view.run_id, 1)
    return view.run_id


def open_live(stack: WarmStack, run_id: str, receive_bytes: int | None = None) -> ClientConnection:
    """A subscribed connection; with `receive_bytes`, one that holds as little as it can by itself."""
    location = stack.location()
    options: dict[str, Any] = {}
    if receive_bytes is not None:
        plain = socket.socket()
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        host, _, port = location.url.removeprefix("http://").partition(":")
        plain.connect((host, int(port)))
        options = {"sock": plain, "max_queue": 1, "ping_interval": None}
    connection = connect(
        location.live_url,
        additional_headers={"Authorization": f"Bearer {location.token}"},
        subprotocols=[Subprotocol(SUBPROTOCOL_MSGPACK)],
        proxy=None,
        max_size=2**26,
        compression=None,
        **options,
    )
    asked = Subscribe(run_id=run_id, cursor=None, types=["*"])
    # ClientFrames are text in both subprotocols unless the gateway says otherwise
    connection.send(asked.model_dump_json())
    return connection


def _latency(stack: WarmStack) -> dict[str, Any]:
    run_id = paced_run(stack, LATENCY_RATE, SETTLE_S + LATENCY_S + 30)
    connection = open_live(stack, run_id)
    late: list[np.ndarray[Any, Any]] = []
    missed = 0
    began = time.monotonic()
    while (now := time.monotonic()) < began + SETTLE_S + LATENCY_S:
        data = connection.recv(timeout=10)
        frame = decode_frame(data)
        seen = time.time()
        if now < began + SETTLE_S:
            continue
        if frame["op"] == "missed":
            missed += frame["count"]
        elif frame["op"] == "events":
            times = [t for columns in frame["columns"].values() for t in columns["t"]]
            times += [event["t"] for event in frame["events"]]
            late.append(seen - np.array(times))
    connection.close()
    with stack.client() as client:
        client.stop(run_id)
    stack.wait_final(run_id)
    all_late = 1000 * np.concatenate(late)
    result = {
        "events_per_s": round(len(all_late) / LATENCY_S),
        "missed": missed,
        "p50_ms": round(float(np.percentile(all_late, 50)), 1),
        "p99_ms": round(float(np.percentile(all_late, 99)), 1),
    }
    print(f"  {result}", file=sys.stderr)
    return result
