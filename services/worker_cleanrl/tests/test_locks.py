"""The image's torch: the same version with and without CUDA, and nothing of CUDA in the lock of the CPU build."""

import re
from pathlib import Path

ROOM = Path(__file__).parents[1]
PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)==(\S+)", re.MULTILINE)


def pins(name: str) -> dict[str, set[str]]:
    """Versions of each package in a file of pins."""
    found: dict[str, set[str]] = {}
    for package, version in PIN.findall((ROOM / name).read_text()):
        found.setdefault(package, set()).add(version)
    return found


def test_the_cpu_lock_is_the_cuda_lock_without_cuda() -> None:
    """Every package has the version that it has in the CUDA lock; torch is the CPU build of the same version."""
    cpu, cuda, torch = (
        pins("requirements.cpu.lock"),
        pins("requirements.cuda.lock"),
        pins("torch.txt"),
    )
    (version,) = torch["torch"]
    assert cpu.pop("torch") == {f"{version}+cpu"} == pins("torch.cpu.txt")["torch"]
    assert cuda.pop("torch") == {version}
    brought = {name for name in cuda if re.match(r"(nvidia|cuda|triton)(-|$)", name)}
    assert len(brought) > 10
    assert cpu == {name: versions for name, versions in cuda.items() if name not in brought}
