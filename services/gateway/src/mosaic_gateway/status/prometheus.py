"""Metrics of the other parts for Prometheus, asked for at each scrape.

A part that does not answer is left out, and `mosaic_up` reports it.
"""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from mosaic_contracts import verbs
from mosaic_contracts.problems import ProblemError
from mosaic_contracts.services import ListRequest, NoRequest
from mosaic_contracts.states import RunState
from mosaic_gateway.history import History
from mosaic_gateway.live.frames import FrameHub
from mosaic_gateway.live.hub import Hub
from mosaic_gateway.meters import REGISTRY
from mosaic_gateway.scheduler import SchedulerClient
from mosaic_servicekit.bus import Bus

T = TypeVar("T")


class Scrape:
    """Takes a reading of the whole stack; two seconds at most."""

    def __init__(
        self,
        bus: Bus,
        scheduler: SchedulerClient,
        history: History,
        hub: Hub,
        frames: FrameHub,
    ) -> None:
        self._bus = bus
        self._scheduler = scheduler
        self._history = history
        self._hub = hub
        self._frames = frames

    async def text(self) -> bytes:
        """All metrics in Prometheus' text format."""
        states = list(RunState)
        scheduler, runs, recorder, events = await asyncio.gather(
            _or_none(self._scheduler.call(verbs.STATUS, NoRequest())),
            asyncio.gather(*(_or_none(self._count(state)) for state in states)),
            _or_none(self._bus.call(verbs.RECORDER_STATUS, NoRequest())),
            _or_none(self._history.read(lambda reader: reader.event_count(), 0)),
        )
        reading = _Reading()
        for state, number in zip(states, runs, strict=True):
            if number is not None:
                reading.set("mosaic_runs", "Runs by state.", number, state=state.value)
        reading.set("mosaic_live_clients", "WebSockets at /live.", self._hub.client_count)
        viewers = self._frames.client_count
        reading.set("mosaic_frame_clients", "WebSockets at /frames.", viewers)
        if events is not None:
            reading.set("mosaic_events_stored", "Events in the telemetry store.", events)
        if recorder is not None:
            lag = "Messages that the recorder has not stored yet."
            reading.set("mosaic_recorder_lag_messages", lag, recorder.lag)
            refused = "Batches that did not validate and were set aside."
            reading.set("mosaic_recorder_quarantined_batches", refused, recorder.quarantined)
            taking = "1 while the recorder stores what comes."
            reading.set("mosaic_recorder_accepting", taking, recorder.accepting)
            if (store := recorder.store) is not None:
                reading.set("mosaic_store_bytes", "Size of the telemetry store.", store.file_bytes)
                unused = "Bytes of the telemetry store that hold nothing."
                reading.set("mosaic_store_free_bytes", unused, store.free_bytes)
                log = "Size of the telemetry store's write-ahead log."
                reading.set("mosaic_store_wal_bytes", log, store.wal_bytes)
        up = {
            "broker": self._bus.connected.is_set(),
            "scheduler": scheduler is not None,
            "recorder": recorder is not None,
            "store": events is not None,
        }
        for part, answers in up.items():
            reading.set("mosaic_up", "1 where the part answers the gateway.", answers, part=part)
        return generate_latest(REGISTRY) + generate_latest(reading.registry)

    async def _count(self, state: RunState) -> int:
        return len(await self._scheduler.run_ids(ListRequest(states=[state.value])))


class _Reading:
    """Gauges of one scrape, created again for each: a series that is gone must not keep its last value."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._gauges: dict[str, Gauge] = {}

    def set(self, name: str, help_text: str, value: float, **labels: str) -> None:
        gauge = self._gauges.get(name)
        if gauge is None:
            gauge = Gauge(name, help_text, list(labels), registry=self.registry)
            self._gauges[name] = gauge
        (gauge.labels(**labels) if labels else gauge).set(value)


async def _or_none(answer: Awaitable[T]) -> T | None:
    try:
        return await answer
    except ProblemError:
        return None
