"""What the machine behind the stack can give to one run."""

from dataclasses import dataclass

from mosaic_contracts.machine import MachineSample

MIB = 2**20


@dataclass(frozen=True)
class Limits:
    """None: not known yet."""

    cores: int | None = None
    memory_mb: int | None = None
    gpus: int | None = None
    gpu_memory_mb: int | None = None
    """Of the smallest GPU."""

    @classmethod
    def of(cls, sample: MachineSample, cpu_limit: int | None) -> "Limits":
        """By a look at the machine; `cpu_limit` is what the scheduler gives away of its cores."""
        sizes = [gpu.memory_total_bytes for gpu in sample.gpus if gpu.memory_total_bytes]
        return cls(
            cores=cpu_limit or sample.cores,
            memory_mb=sample.memory_total_bytes // MIB,
            gpus=len(sample.gpus),
            gpu_memory_mb=min(sizes) // MIB if sizes else None,
        )


UNKNOWN = Limits()


def standing(sample: MachineSample) -> tuple[object, ...]:
    """What a preflight depends on of the machine: equal twice, and asking again would tell the same."""
    runs = tuple(sorted(use.run_id for use in sample.runs))
    gpus = tuple(gpu.uuid for gpu in sample.gpus)
    # a disk that is nearly full counts by the gibibyte; one that is not need not be looked at
    return runs, gpus, min(sample.disk_free_bytes // 2**30, 8)
