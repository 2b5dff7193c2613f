"""Use of the stack's machine and of each run on it: newest sample, recent values, and age."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mosaic_contracts.machine import GpuSample, GpuState, MachineHistory, MachineSample, RunUse
from mosaic_contracts.runs import RunView
from mosaic_gui.state import wording
from mosaic_gui.state.language import tr, tr_n

KEPT = 90
"""Samples of the past: three minutes at one every two seconds."""
OLD_S = 12.0
"""Age from which figures are old: samples are taken every 2 s and requested every 3 s."""
_MOST_GPUS = 2
"""Shown one by one; of more, one figure for all."""


@dataclass(frozen=True)
class Meter:
    """One figure with its recent values."""

    name: str
    value: str
    hint: str
    past: tuple[float | None, ...] = ()
    """Recent values, oldest first; None where one was not known."""
    top: float = 100.0
    """Largest possible value, for the height of the line."""


class MachineLog:
    """Samples of one stack's machine; `take` and `age_s` get the time in monotonic seconds."""

    def __init__(self) -> None:
        self._samples: deque[MachineSample] = deque(maxlen=KEPT)
        self._taken_at = 0.0
        self._gpu_state, self._gpu_note = GpuState.UNKNOWN, ""

    @property
    def newest(self) -> MachineSample | None:
        return self._samples[-1] if self._samples else None

    def clear(self) -> None:
        """Forget all samples, e.g. for another stack."""
        self._samples.clear()

    def take(self, history: MachineHistory, now_s: float) -> None:
        """Add the new samples of an answer."""
        if not history.samples:
            return
        if self._samples and history.samples[-1].t < self._samples[-1].t:
            self._samples.clear()  # its clock was set back: the past has no place any more
        newest = self._samples[-1].t if self._samples else float("-inf")
        self._samples.extend(sample for sample in history.samples if sample.t > newest)
        self._taken_at = now_s - (history.age_s or 0.0)
        self._gpu_state, self._gpu_note = history.gpu_state, history.gpu_note

    def age_s(self, now_s: float) -> float:
        """Age of the newest sample in seconds."""
        return now_s - self._taken_at

    def is_old(self, now_s: float) -> bool:
        """Whether the newest sample is old."""
        return bool(self._samples) and self.age_s(now_s) > OLD_S

    def host(self) -> list[Meter]:
        """Figures of the whole machine: CPU, RAM, GPUs or why there are none, disk."""
        now = self.newest
        if now is None:
            return []
        ram = tr(
            "{used} of {all}",
            used=_gib(now.memory_used_bytes),
            all=wording.bytes_text(now.memory_total_bytes),
        )
        return [
            Meter(
                tr("CPU"),
                f"{now.cpu_percent:.0f} %",
                tr(
                    "All {cores} cores of the stack's machine, load {load}",
                    cores=now.cores,
                    load=f"{now.load1:.1f}",
                ),
                self._past(lambda sample: sample.cpu_percent),
            ),
            Meter(
                tr("RAM"),
                ram,
                tr("Memory that is in use on the stack's machine"),
                self._past(lambda sample: sample.memory_used_bytes),
                now.memory_total_bytes,
            ),
            *self._host_gpus(now.gpus),
            Meter(
                tr("Disk"),
                tr("{size} free", size=wording.bytes_text(now.disk_free_bytes)),
                tr("Where the stack keeps its data"),
            ),
        ]

    def of_run(self, run: RunView) -> list[Meter]:
        """Figures of a run's processes; empty without processes."""
        if not run.state.has_process:
            return []
        use = self._use(self.newest, run.run_id)
        if use is None:
            hint = tr("This run's processes have not been measured yet.")
            return [
                Meter(tr("CPU"), wording.NOTHING, hint),
                Meter(tr("RAM"), wording.NOTHING, hint),
            ]
        cpus = self._past(lambda sample: _cpu(self._use(sample, run.run_id)))
        limit = run.spec.memory_mb * 2**20 if run.spec.memory_mb else None
        memory = self._past(lambda sample: _memory(self._use(sample, run.run_id)))
        return [
            Meter(
                tr("CPU"),
                f"{use.cpu_percent:.0f} %",
                tr_n(
                    "Its {n} process; 100 % is one core, and it asked for {cpus}",
                    "Its {n} processes; 100 % is one core, and it asked for {cpus}",
                    use.processes,
                    cpus=run.spec.cpus,
                ),
                cpus,
                max([100.0 * run.spec.cpus, *(value or 0.0 for value in cpus)]),
            ),
            Meter(
                tr("RAM"),
                wording.bytes_text(use.rss_bytes),
                tr("Resident memory of its processes; what they share is counted in each"),
                memory,
                limit or max([1.0, *(value or 0.0 for value in memory)]),
            ),
            *self._run_gpus(run, use),
        ]

    def _host_gpus(self, gpus: Sequence[GpuSample]) -> list[Meter]:
        if not gpus:
            return [Meter(tr("GPU"), self._without_gpus(), self._gpu_note)]
        if len(gpus) > _MOST_GPUS:
            mean = _mean([gpu.utilization_percent for gpu in gpus])
            hint = "\n".join([*map(_gpu_line, gpus), self._gpu_note]).strip()
            past = self._past(lambda s: _mean([gpu.utilization_percent for gpu in s.gpus]))
            title = tr_n("{n} GPU", "{n} GPUs", len(gpus))
            return [Meter(title, _percent(mean), hint, past)]
        return [self._gpu_meter(gpu, _gpu_memory(gpu), _gpu_line(gpu)) for gpu in gpus]

    def _run_gpus(self, run: RunView, use: RunUse) -> list[Meter]:
        if not use.gpus:
            asked = tr("It requested GPUs, and none is assigned yet.")
            none = tr("It requested no GPU and sees none.")
            return [Meter(tr("GPU"), tr("none"), asked if run.spec.gpus else none)]
        known = {gpu.uuid: gpu for gpu in self.newest.gpus} if self.newest else {}
        found = []
        for held in use.gpus:
            gpu = known.get(held.uuid)
            if gpu is None:
                found.append(
                    Meter(
                        tr("GPU"), wording.NOTHING, tr("{uuid} cannot be read now.", uuid=held.uuid)
                    )
                )
                continue
            hint = [_gpu_line(gpu), tr("The percentage is of the whole GPU, used by any process.")]
            memory = ""
            if held.memory_bytes is None:
                hint.append(tr("The driver does not report the memory of this run's processes."))
            else:
                memory = wording.bytes_text(held.memory_bytes)
            found.append(self._gpu_meter(gpu, memory, "\n".join(hint)))
        return found

    def _gpu_meter(self, gpu: GpuSample, memory: str, hint: str) -> Meter:
        past = self._past(
            lambda sample: next(
                (one.utilization_percent for one in sample.gpus if one.uuid == gpu.uuid), None
            )
        )
        value = " · ".join(part for part in (_percent(gpu.utilization_percent), memory) if part)
        return Meter(tr("GPU {index}", index=gpu.index), value, hint, past)

    def _without_gpus(self) -> str:
        if self._gpu_state is GpuState.ABSENT:
            return tr("none")
        if self._gpu_state is GpuState.UNKNOWN:
            return wording.NOTHING
        return tr("does not answer")

    def _past(self, figure: Callable[[MachineSample], float | None]) -> tuple[float | None, ...]:
        return tuple(figure(sample) for sample in self._samples)

    @staticmethod
    def _use(sample: MachineSample | None, run_id: str) -> RunUse | None:
        used = sample.runs if sample is not None else []
        return next((use for use in used if use.run_id == run_id), None)


def _cpu(use: RunUse | None) -> float | None:
    return use.cpu_percent if use is not None else None


def _memory(use: RunUse | None) -> float | None:
    return float(use.rss_bytes) if use is not None else None


def _mean(rates: Sequence[float | None]) -> float | None:
    known = [rate for rate in rates if rate is not None]
    return sum(known) / len(known) if known else None


def _percent(rate: float | None) -> str:
    return wording.NOTHING if rate is None else f"{rate:.0f} %"


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f}"


def _gpu_memory(gpu: GpuSample) -> str:
    if gpu.memory_used_bytes is None or gpu.memory_total_bytes is None:
        return ""
    whole = wording.bytes_text(gpu.memory_total_bytes)
    return tr("{used} of {all}", used=_gib(gpu.memory_used_bytes), all=whole)


def _gpu_line(gpu: GpuSample) -> str:
    """`GPU 0, NVIDIA A100: 41 %, 3.1 of 24.0 GiB, 61 °C, 75 W`."""
    facts = [_percent(gpu.utilization_percent), _gpu_memory(gpu)]
    if gpu.temperature_c is not None:
        facts.append(f"{gpu.temperature_c:.0f} °C")
    if gpu.power_w is not None:
        facts.append(f"{gpu.power_w:.0f} W")
    title = tr("GPU {index}", index=gpu.index)
    return f"{title}, {gpu.name}: {', '.join(fact for fact in facts if fact)}"
