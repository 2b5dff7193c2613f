"""Limits of the stack's machine for one run."""

from dataclasses import dataclass

from mosaic_contracts.machine import MachineSample

MIB = 2**20


@dataclass(frozen=True)
class Limits:
    """Limits of the machine; None: not known yet."""

    cores: int | None = None
    memory_mb: int | None = None
    gpus: int | None = None
    gpu_memory_mb: int | None = None
    """Memory of the smallest GPU."""

    @classmethod
    def of(cls, sample: MachineSample, cpu_limit: int | None) -> "Limits":
        """Limits by a sample of the machine; `cpu_limit`: cores that the scheduler may use."""
        sizes = [gpu.memory_total_bytes for gpu in sample.gpus if gpu.memory_total_bytes]
        return cls(
            cores=cpu_limit or sample.cores,
            memory_mb=sample.memory_total_bytes // MIB,
            gpus=len(sample.gpus),
            gpu_memory_mb=min(sizes) // MIB if sizes else None,
        )


UNKNOWN = Limits()
