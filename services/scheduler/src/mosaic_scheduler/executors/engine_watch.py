"""Follows an engine's events, for the SDK blocks."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from docker.types import CancellableStream

from mosaic_scheduler.executors.engine import ENGINE_AWAY, LABEL_STACK, Engine
from mosaic_servicekit.logging import get_log

_RETRY_S = 1.0
"""Before the engine's events are followed again."""


class EngineWatch(threading.Thread):
    """Follow the engine's events in a thread, for the SDK blocks; notify the loop that some container ended."""

    def __init__(
        self,
        engine: Engine,
        loop: asyncio.AbstractEventLoop,
        changed: Callable[[], None],
        back: Callable[[], None],
    ) -> None:
        super().__init__(name="engine-events", daemon=True)
        self._engine = engine
        self._loop = loop
        self._on_change = changed
        self._back = back
        self._stopped = threading.Event()
        self._stream: CancellableStream[dict[str, Any]] | None = None

    def run(self) -> None:
        """Until `stop`. After each (re)connection things may have changed unseen."""
        filters: dict[str, Any] = {
            "type": "container",
            "event": ["die", "destroy"],
            "label": f"{LABEL_STACK}={self._engine.stack}",
        }
        while not self._stopped.is_set():
            client = self._engine.connect()
            try:
                self._stream = client.events(decode=True, filters=filters)
                self._back()
                self._notify()
                for _ in self._stream:
                    self._notify()
            except ENGINE_AWAY as error:
                if not self._stopped.is_set():
                    get_log().warning("engine.away", error=str(error))
            finally:
                client.close()
            self._stopped.wait(_RETRY_S)

    def stop(self) -> None:
        """End it."""
        self._stopped.set()
        if self._stream is not None:
            self._stream.close()

    def _notify(self) -> None:
        if not self._loop.is_closed() and not self._stopped.is_set():
            self._loop.call_soon_threadsafe(self._on_change)
