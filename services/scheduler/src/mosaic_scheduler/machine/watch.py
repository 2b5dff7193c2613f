"""Looks at the machine every two seconds, remembers an hour, and tells each run's stream what the run uses."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping

from mosaic_contracts.machine import RESOURCE_METRICS, MachineHistory, MachineSample
from mosaic_contracts.services import MachineRequest
from mosaic_scheduler.database import Database
from mosaic_scheduler.events import outbox
from mosaic_scheduler.events.outbox import MetricEvent
from mosaic_scheduler.machine.sampler import Look, MachineSampler
from mosaic_scheduler.machine.trees import RunSight
from mosaic_servicekit.bus import Verb

INTERVAL_S = 2.0
KEPT_S = 3600.0
EVENT_EVERY_S = 10.0
"""Per run, the first one this long after its start: a run of seconds has no use worth a curve."""
_ANSWER_BYTES = 4 * 2**20
"""An answer must fit one message of the broker (8 MiB)."""


class MachineWatch:
    """The loop, and the verb `machine`."""

    def __init__(
        self,
        sampler: MachineSampler,
        runners: Callable[[], Mapping[str, int]],
        step_of: Callable[[str], int | None],
        database: Database,
        publish: Callable[[], None],
    ) -> None:
        self._sampler = sampler
        self._runners = runners
        self._step_of = step_of
        self._database = database
        self._publish = publish
        self._samples: deque[MachineSample] = deque(maxlen=int(KEPT_S / INTERVAL_S))
        self._gpu_note = ""
        self._told: dict[str, float] = {}
        """By run: when it was last told of, or first seen (monotonic)."""

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {"machine": (MachineRequest, self.machine)}

    async def run(self) -> None:
        """Look for ever."""
        while True:
            look = await asyncio.to_thread(self._sampler.take, self._runners())
            self._samples.append(look.sample)
            self._gpu_note = look.gpu_note
            await self._tell(look)
            await asyncio.sleep(INTERVAL_S)

    async def machine(self, request: MachineRequest) -> MachineHistory:
        """The newest `last` samples, or as many of them as fit one message."""
        wanted = min(max(1, request.last), len(self._samples))
        samples: list[MachineSample] = []
        room = _ANSWER_BYTES
        for sample in list(self._samples)[::-1][:wanted]:
            room -= len(sample.model_dump_json())
            if room < 0:
                break
            samples.append(sample)
        return MachineHistory(interval_s=INTERVAL_S, samples=samples[::-1], gpu_note=self._gpu_note)

    async def _tell(self, look: Look) -> None:
        now = time.monotonic()
        self._told = {run.use.run_id: self._told.get(run.use.run_id, now) for run in look.runs}
        due = [run for run in look.runs if now - self._told[run.use.run_id] >= EVENT_EVERY_S]
        if not due:
            return
        events = [event for run in due for event in self._events(run)]
        await self._database.call(outbox.append_metrics, events)
        self._told |= {run.use.run_id: now for run in due}
        self._publish()

    def _events(self, run: RunSight) -> list[MetricEvent]:
        values = {
            "cpu_percent": run.use.cpu_percent,
            "rss_bytes": run.use.rss_bytes,
            "gpu_percent": run.gpu_percent,
            "gpu_memory_bytes": run.use.gpu_memory_bytes,
        }
        step = self._step_of(run.use.run_id)
        return [
            MetricEvent(run.use.run_id, f"{RESOURCE_METRICS}{name}", step, float(value))
            for name, value in values.items()
            if value is not None
        ]
