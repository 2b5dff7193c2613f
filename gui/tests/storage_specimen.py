"""What fills the disks, as the gateway sends it."""

import random
from datetime import timedelta
from typing import Any

from tests.specimen import run_id

from mosaic_contracts.storage_reports import PrunePlan, StorageReport
from mosaic_gui.state import run_row

MIB = 2**20
ORIGINS = (
    ("ppo", "CartPole-v1"),
    ("dqn", "LunarLander-v2"),
    ("sac", "Pendulum-v1"),
    ("ppo", "ALE/Breakout-v5"),
)


def use(n: int, **fields: Any) -> dict[str, Any]:
    """What the n-th run has: larger for smaller n."""
    dice = random.Random(n)
    scale = MIB * 900 / (n + 1) ** 0.8
    algorithm, environment = ORIGINS[n % len(ORIGINS)]
    kinds: list[dict[str, Any]] = [
        {
            "kind": "checkpoint",
            "files": 4,
            "bytes": int(scale * dice.uniform(0.1, 0.6)),
            "allowed": 5,
        },
        {"kind": "video", "files": 3, "bytes": int(scale * dice.uniform(0.0, 0.5)), "allowed": 5},
        {"kind": "tensorboard", "files": 1, "bytes": int(scale * 0.05)},
        {"kind": "log", "files": 2, "bytes": int(scale * 0.02)},
    ]
    events = int(scale * dice.uniform(0.05, 0.4))
    known: dict[str, Any] = {
        "run_id": run_id(n),
        "name": f"{environment.rpartition('/')[2]}__{algorithm}__{n + 1}__20260102",
        "state": "succeeded",
        "worker": "cleanrl",
        "algorithm": algorithm,
        "environment": environment,
        "kinds": kinds,
        "event_bytes": events,
        "bytes": sum(kind["bytes"] for kind in kinds) + events,
        "profile": "default",
        "pinned": n == 1,
        "next_removal": {
            "path": "videos/episode-3.mp4",
            "kind": "video",
            "bytes": 3 * MIB,
            "at": run_row.now() + timedelta(days=12, hours=1),
            "rule": "video: keep last 5, max age 30 days (only what can be rebuilt)",
        },
    }
    return known | fields


def trash_item(n: int, **fields: Any) -> dict[str, Any]:
    """A file in the trash."""
    known: dict[str, Any] = {
        "id": n,
        "run_id": run_id(n),
        "run_name": use(n)["name"],
        "path": f"videos/old-{n}.mp4",
        "kind": "video",
        "bytes": 5 * MIB,
        "rule": "video: max age 30 days",
        "removed_at": run_row.now() - timedelta(hours=2),
        "expires_at": run_row.now() + timedelta(hours=22, minutes=1),
    }
    return known | fields


def report(count: int = 24, rows: int | None = None, **fields: Any) -> StorageReport:
    """A stack with so many runs, of which the largest ones have a row."""
    uses = [use(n) for n in range(count)]
    totals: dict[str, dict[str, Any]] = {}
    for each in uses:
        for kind in each["kinds"]:
            total = totals.setdefault(kind["kind"], {"kind": kind["kind"], "files": 0, "bytes": 0})
            total["files"] += kind["files"]
            total["bytes"] += kind["bytes"]
    known: dict[str, Any] = {
        "volumes": [
            {
                "label": "runs, store, broker",
                "path": "/data",
                "free_bytes": 41 * 2**30,
                "total_bytes": 64 * 2**30,
                "used_bytes": 9 * 2**30,
            },
            {
                "label": "environments",
                "path": "/home",
                "free_bytes": 3 * 2**30,
                "total_bytes": 100 * 2**30,
                "used_bytes": 6 * 2**30,
                "level": "low",
                "message": "The disk of environments is low: free some space.",
            },
        ],
        "kinds": sorted(totals.values(), key=lambda total: -total["bytes"]),
        "runs": uses[:rows],
        "run_count": count,
        "run_bytes": sum(each["bytes"] for each in uses),
        "trash": {"files": 2, "bytes": 10 * MIB, "items": [trash_item(5), trash_item(4)]},
        "store_bytes": sum(each["event_bytes"] for each in uses) + 40 * MIB,
        "broker_bytes": 12 * MIB,
        "other_bytes": 8 * MIB,
        "checked_at": run_row.now(),
    }
    return StorageReport.model_validate(known | fields)


def plan(count: int = 5, **fields: Any) -> PrunePlan:
    """So many videos that would go."""
    items = [
        {
            "run_id": run_id(n),
            "run_name": use(n)["name"],
            "path": f"videos/episode-{n}.mp4",
            "kind": "video",
            "bytes": 3 * MIB,
            "rule": "video: keep last 5, max age 30 days",
            "reason": "older than 30 days, and it can be made again from recorded steps",
        }
        for n in range(count)
    ]
    known: dict[str, Any] = {
        "items": items,
        "files": count,
        "bytes": 3 * MIB * count,
        "bytes_by_kind": {"video": 3 * MIB * count},
        "kept": [{"reason": "pinned", "text": "the run is pinned", "files": 4, "bytes": MIB}],
        "planned_at": run_row.now(),
    }
    return PrunePlan.model_validate(known | fields)
