"""Locks carry hashes, keep torch out (one lock serves CPU and CUDA), and hold nothing that their room must not use."""

import re
from pathlib import Path

ACCELERATOR = re.compile(r"torch|triton|nvidia(-.*)?")
PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)==")

# What must not even be installed where it must not be imported. Keys are rooms.
FORBIDDEN = {
    "contracts": {"nats-py", "numpy", "zstandard", "structlog", "fastapi", "httpx"},
    "servicekit": {"fastapi", "docker", "numpy", "zstandard"},
    "store": {"nats-py", "fastapi", "docker"},
    "workerkit": {"fastapi", "docker", "structlog", "gymnasium"},
    "gymkit": {"fastapi", "docker", "structlog"},
    "client": {"nats-py", "fastapi", "docker", "numpy"},
    "cli": {"nats-py", "fastapi", "docker", "numpy"},
    "gateway": {"docker", "tensorboard", "nvidia-ml-py", "gymnasium", "optuna"},
    "scheduler": {"fastapi", "optuna", "gymnasium", "tensorboard"},
    "gui": {"nats-py", "fastapi", "docker", "gymnasium", "httpx"},
    "exporter": {"nats-py", "fastapi", "docker", "torch"},
    "analysis": {"nats-py", "fastapi", "docker", "torch", "pandas"},
    "recorder": {"fastapi", "docker", "gymnasium", "tensorboard"},
    "worker_cleanrl": {"docker", "fastapi", "gym"},
    "worker_play": {"docker", "fastapi", "structlog", "gym"},
    "worker_sweep": {"docker", "fastapi", "structlog", "gymnasium", "pandas"},
    "worker_script": {"docker", "fastapi", "structlog", "gymnasium"},
    "worker_spade": {"docker", "fastapi", "structlog"},
}


def find_lock_faults(root: Path, names: list[str]) -> list[str]:
    """Findings for every lock; development locks may hold what tests need, but never torch."""
    findings = []
    for name in names:
        if not name.endswith(".lock"):
            continue
        path = root / name
        forbidden = set() if name.endswith(".dev.lock") else FORBIDDEN.get(path.parent.name, set())
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            if found := PIN.match(line):
                fault = pin_fault(found[1], line, name, forbidden)
                findings += [f"{name}:{number}: {fault}"] if fault else []
    return findings


def pin_fault(package: str, line: str, name: str, forbidden: set[str]) -> str | None:
    """What is wrong with one pinned package."""
    is_torch_of_an_image = package == "torch" and name.endswith(".cpu.lock")
    if ACCELERATOR.fullmatch(package) and not (is_torch_of_an_image or name.endswith(".cuda.lock")):
        if package == "nvidia-ml-py" and "scheduler" in name:
            return None  # reads the driver's counters, brings no CUDA
        return f"names {package}; torch is a second step, see torch.exclude and torch.txt"
    if package in forbidden:
        return f"names {package}, which this room must not import"
    return None if line.endswith("\\") else f"pins {package} without a hash"
