"""What a run's results may depend on besides its spec: interpreter, processor, threads."""

import platform
from pathlib import Path
from typing import Any

from mosaic_contracts.spec import RunSpec

_CPU_INFO = Path("/proc/cpuinfo")


def surroundings_of(spec: RunSpec) -> dict[str, Any]:
    """Return the surroundings of this process, for the config event.

    Args:
        spec: of the run; its cores are the threads of numeric libraries.

    Returns:
        `python`, `system`, `cpu` (the processor's name), `threads` and `gpus`.
    """
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": _processor() or platform.processor() or platform.machine(),
        "threads": spec.cpus,
        "gpus": spec.gpus,
    }


def _processor() -> str:
    """Name of the processor, as Linux gives it; empty elsewhere."""
    try:
        lines = _CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "")
