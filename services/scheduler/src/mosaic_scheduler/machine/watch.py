"""Sample the machine every two seconds, keep an hour, and record in each run's stream what the run uses."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from mosaic_contracts.machine import RESOURCE_METRICS, MachineHistory, MachineSample, RunUse
from mosaic_contracts.services import MachineRequest
from mosaic_scheduler.database import Database
from mosaic_scheduler.gpus.reading import GpuReading
from mosaic_scheduler.machine.sampler import MachineSampler
from mosaic_scheduler.runs import outbox
from mosaic_scheduler.runs.outbox import UsageMetric
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
        reported: Callable[[], Sequence[RunUse]],
        leases: Callable[[], Mapping[str, Sequence[str]]],
        newest: Callable[[], GpuReading],
        step_of: Callable[[str], int | None],
        database: Database,
        publish: Callable[[], None],
    ) -> None:
        """`reported`: use of runs whose processes are not below a runner that is seen from here."""
        self._sampler = sampler
        self._runners = runners
        self._reported_use = reported
        self._leases = leases
        self._newest = newest
        self._step_of = step_of
        self._database = database
        self._publish = publish
        self._samples: deque[MachineSample] = deque(maxlen=int(KEPT_S / INTERVAL_S))
        self._taken_at = 0.0
        """The newest of them (monotonic)."""
        self._recorded_at: dict[str, float] = {}
        """By run: when its use was last recorded, or the run was first seen (monotonic)."""

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {"machine": (MachineRequest, self.machine)}

    async def run(self) -> None:
        """Look for ever."""
        while True:
            sample = await asyncio.to_thread(self._sampler.take, self._runners(), self._leases())
            if reported := self._reported_use():
                sample = sample.model_copy(update={"runs": [*sample.runs, *reported]})
            self._samples.append(sample)
            self._taken_at = time.monotonic()
            await self._record_use(sample.runs)
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
        gpu = self._newest()
        return MachineHistory(
            interval_s=INTERVAL_S,
            samples=samples[::-1],
            age_s=time.monotonic() - self._taken_at if samples else None,
            gpu_state=gpu.state,
            gpu_note=gpu.note,
        )

    async def _record_use(self, runs: Sequence[RunUse]) -> None:
        now = time.monotonic()
        self._recorded_at = {use.run_id: self._recorded_at.get(use.run_id, now) for use in runs}
        due = [use for use in runs if now - self._recorded_at[use.run_id] >= EVENT_EVERY_S]
        if not due:
            return
        events = [event for use in due for event in self._events(use)]
        await self._database.call(outbox.append_metrics, events)
        self._recorded_at |= {use.run_id: now for use in due}
        self._publish()

    def _events(self, use: RunUse) -> list[UsageMetric]:
        values = {
            "cpu_percent": use.cpu_percent,
            "rss_bytes": use.rss_bytes,
            "gpu_percent": use.gpu_percent,
            "gpu_memory_bytes": use.gpu_memory_bytes,
        }
        step = self._step_of(use.run_id)
        return [
            UsageMetric(use.run_id, f"{RESOURCE_METRICS}{name}", step, float(value))
            for name, value in values.items()
            if value is not None
        ]
