"""What a spec asks of the run's bounds, memory and internet: whether this stack can give it and hold it to that."""

import os

from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import Finding
from mosaic_scheduler.placement.protocol import Bounds, Internet

MEMORY_OPEN = "nothing holds a process of the embedded stack to `memory_mb`"
INTERNET_OPEN = (
    "processes of this machine reach whatever the machine does, whether the spec says so or not"
)


def machine_memory_mb() -> int:
    """MiB of memory that this machine has, swap apart."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20


def check_bounds(spec: RunSpec, bounds: Bounds, machine_mb: int) -> list[Finding]:
    """What can never be given here."""
    findings: list[Finding] = []
    if spec.memory_mb is not None and spec.memory_mb > machine_mb:
        message = f"asks for {spec.memory_mb:,} MiB, this machine has {machine_mb:,}"
        findings.append(_impossible("memory_mb", message))
    if spec.internet and bounds.internet is Internet.NONE:
        message = "no network of this stack leads out; name one in MOSAIC_ENGINE_OUTSIDE_NETWORK"
        findings.append(_impossible("internet", message))
    return findings


def notes_on_bounds(spec: RunSpec, bounds: Bounds) -> list[str]:
    """What the run is not held to although its spec says so."""
    unbound = spec.memory_mb is not None and not bounds.memory
    return [f"its memory limit is not enforced: {MEMORY_OPEN}"] if unbound else []


def _impossible(where: str, message: str) -> Finding:
    code = ProblemCode.RESOURCES_IMPOSSIBLE
    return Finding(level="blocking", where=where, message=message, code=code)
