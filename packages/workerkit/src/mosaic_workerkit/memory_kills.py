"""How often the kernel killed for memory among this process and its neighbours in the cgroup.

Standard library only, as the runner.
"""

from __future__ import annotations

from pathlib import Path


def oom_kills() -> int | None:
    """How often the kernel killed for memory in our cgroup; None where that cannot be read."""
    try:
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if "memory" in controllers.split(","):
                count = _oom_count(Path("/sys/fs/cgroup/memory"), path, "memory.oom_control")
            elif controllers == "":
                count = _oom_count(Path("/sys/fs/cgroup"), path, "memory.events")
            else:
                continue
            if count is not None:
                return count
    except (OSError, ValueError):
        return None
    return None


def _oom_count(mount: Path, path: str, name: str) -> int | None:
    # A container may see its own cgroup as the root of the mount, under a path that is the host's.
    for file in (mount / path.lstrip("/") / name, mount / name):
        if file.exists():
            counts = dict(row.split() for row in file.read_text().splitlines())
            return int(counts["oom_kill"]) if "oom_kill" in counts else None
    return None


def has_grown(before: int | None, after: int | None) -> bool | None:
    """Whether a count has grown; None where one of the two is not known."""
    return None if before is None or after is None else after > before
