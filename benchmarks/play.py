"""A person's play: milliseconds from a key to the first frame whose step knew it, through gateway, broker and shipper.

var/venvs/tests/bin/python benchmarks/play.py [ACTIONS]
"""

import asyncio
import json
import random
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import numpy as np
from warm_stack import WarmStack, warm_stack

from mosaic_client import Client, Location
from mosaic_client.play_session import PlaySession

ACTIONS = 600
RATE = 60.0
LINK_S = 0.020
WARM_UP = 30
UNENDING = {"max_episode_steps": 10**6}


def main() -> None:
    """Print a line for each way to play."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else ACTIONS
    print("play | link | actions | p50 ms | p99 ms | longest ms")
    with warm_stack() as stack:
        for environment, timing in (("MountainCar-v0", "real_time"), ("FrozenLake-v1", "turns")):
            for delay_s in (0.0, LINK_S):
                with reached(stack.location(), delay_s) as location:
                    measured = measure(stack, location, environment, timing, count)
                figures = " | ".join(measured)
                print(f"{environment} {timing} | {1000 * delay_s:g} ms | {figures}", flush=True)


def measure(
    stack: WarmStack, location: Location, environment: str, timing: str, count: int
) -> list[str]:
    """Play, and return the figures of one line."""
    parameters = {"timing": timing, "rate": RATE, "options": json.dumps(UNENDING)}
    spec = stack.spec("play", "human", environment, kind="play", parameters=parameters)
    stack.wait_ready()
    with stack.client() as client:
        run_id = client.submit(spec).run_id
    with Client(location) as client, client.act(run_id) as session:
        session.frame()
        session.step()
        waits = [act(session, number) for number in range(count + WARM_UP)][WARM_UP:]
    with stack.client() as client:
        client.stop(run_id)
    stack.wait_final(run_id)
    found = 1000 * np.array(waits)
    figures = [f"{value:.1f}" for value in (*np.percentile(found, (50, 99)), found.max())]
    return [str(count), *figures]  # an input that is refused ends the session with an error


def act(session: PlaySession, number: int) -> float:
    """Press the other key at a random moment; return the seconds until a frame shows it."""
    time.sleep(random.uniform(0.03, 0.10))
    began = time.perf_counter()
    pressed = session.tap("left" if number % 2 else "right")
    session.frame(after=pressed)
    return time.perf_counter() - began


@contextmanager
def reached(location: Location, delay_s: float) -> Iterator[Location]:
    """The stack behind a link that delays each byte by this time, in both directions."""
    if not delay_s:
        yield location
        return
    link = DelayedLink(location, delay_s)
    thread = threading.Thread(target=link.run, daemon=True)
    thread.start()
    link.is_up.wait()
    yield Location(url=f"http://127.0.0.1:{link.port}", token=location.token)
    link.stop()
    thread.join()


class DelayedLink:
    """A TCP proxy that passes bytes on later."""

    def __init__(self, location: Location, delay_s: float) -> None:
        parts = urlsplit(location.url)
        self._target = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._delay_s = delay_s
        self._loop = asyncio.new_event_loop()
        self._ends = asyncio.Event()
        self.is_up = threading.Event()
        self.port = 0

    def run(self) -> None:
        """Pass bytes on until `stop`."""
        self._loop.run_until_complete(self._serve())

    def stop(self) -> None:
        """End it, from another thread."""
        self._loop.call_soon_threadsafe(self._ends.set)

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._on_client, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self.is_up.set()
        await self._ends.wait()
        server.close()

    async def _on_client(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        far, forth = await asyncio.open_connection(*self._target)
        await asyncio.gather(self._pass(near, forth), self._pass(far, back))

    async def _pass(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(2**16):
            self._loop.call_later(self._delay_s, target.write, data)
        self._loop.call_later(self._delay_s, target.close)


if __name__ == "__main__":
    main()
