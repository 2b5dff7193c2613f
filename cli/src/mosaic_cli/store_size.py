"""The size of the telemetry store, as `status` and `doctor` show it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from mosaic_cli.wording import age, size

MOST_WAITING_PAGES = 25_000
"""Pages in the write-ahead log that a reader may hold back without a word: about 100 MB."""


def store_text(store: Mapping[str, Any], now: datetime) -> str:
    """Return e.g. `1.2 GiB, 3 MiB of it free, write-ahead log 2 MiB, checkpoint 12 s ago`.

    Args:
        store: a `StoreSpace` as JSON has it.
        now: the time on the stack's clock.
    """
    words = [
        size(store["file_bytes"]),
        f"{size(store['free_bytes'])} of it free",
        f"write-ahead log {size(store['wal_bytes'])}",
    ]
    if (checkpoint := store.get("checkpoint")) is not None:
        waiting = checkpoint["frames"] - checkpoint["done"]
        left = f", {waiting:,} pages left" if waiting else ""
        words.append(f"checkpoint {age(datetime.fromisoformat(checkpoint['at']), now)}{left}")
    return ", ".join(words)


def store_problem(store: Mapping[str, Any], python: str, path: str) -> str:
    """What is wrong with the size and what to do; empty where nothing is.

    Args:
        store: a `StoreSpace` as JSON has it.
        python: interpreter of the recorder's environment.
        path: the store's file.
    """
    if not store.get("can_shrink", True):
        return (
            "it cannot give free space back, since it was made without incremental vacuum. `./mosaic down`, then "
            f"`{python} -m mosaic_store.compact {path}`"
        )
    checkpoint = store.get("checkpoint") or {"frames": 0, "done": 0}
    if checkpoint["frames"] - checkpoint["done"] > MOST_WAITING_PAGES:
        return (
            f"a program that reads {path} holds back its write-ahead log, which grows: close tools that have the file "
            "open"
        )
    return ""
