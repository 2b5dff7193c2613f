"""Resource use of runs whose processes cannot be seen from here: in containers, where a shipper reports its trainer."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from mosaic_contracts.machine import RunUse
from mosaic_contracts.services import Heartbeat
from mosaic_scheduler.gpus.reading import GpuReading
from mosaic_scheduler.machine.trees import gpus_of, mean_rate
from mosaic_scheduler.runs.heartbeats import HeartbeatTracker


class _Word(NamedTuple):
    heard_at: float
    """Monotonic."""
    cpu_s: float
    percent: float | None
    """Since the word before."""


class ReportedUsage:
    """CPU time and memory of each trainer's main process, by its heartbeats; GPUs by what was leased."""

    def __init__(
        self,
        heartbeats: HeartbeatTracker,
        leases: Callable[[], Mapping[str, Sequence[str]]],
        newest: Callable[[], GpuReading],
    ) -> None:
        self._heartbeats = heartbeats
        self._leases = leases
        self._newest = newest
        self._words: dict[str, _Word] = {}

    def look(self) -> list[RunUse]:
        """Resource use of the runs that live. A run has no rate at its first heartbeat and is left out."""
        leases, gpu = self._leases(), self._newest()
        beats = self._heartbeats.beats()
        words = {beat.run_id: word for at, beat in beats if (word := self._word(at, beat))}
        self._words = words
        return [
            _use(beat, percent, leases.get(beat.run_id, ()), gpu)
            for _, beat in beats
            if beat.run_id in words and (percent := words[beat.run_id].percent) is not None
        ]

    def _word(self, heard_at: float, beat: Heartbeat) -> _Word | None:
        if beat.worker_state is None or beat.cpu_s is None:
            return None  # there is no such process any more
        before = self._words.get(beat.run_id)
        if before is None or beat.cpu_s < before.cpu_s:  # another attempt begins anew
            return _Word(heard_at, beat.cpu_s, None)
        if heard_at <= before.heard_at:
            return before
        rate = (beat.cpu_s - before.cpu_s) / (heard_at - before.heard_at)
        return _Word(heard_at, beat.cpu_s, round(100 * rate, 1))


def _use(beat: Heartbeat, percent: float, leased: Sequence[str], gpu: GpuReading) -> RunUse:
    gpus = gpus_of((), leased, gpu)
    return RunUse(
        run_id=beat.run_id,
        cpu_percent=percent,
        rss_bytes=beat.rss_bytes or 0,
        processes=1,
        gpu_percent=mean_rate(gpus, gpu),
        gpus=gpus,
    )
