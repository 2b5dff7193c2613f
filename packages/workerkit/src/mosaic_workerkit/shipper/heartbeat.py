"""The heartbeat: the state of the trainer, seen by another process. Never about the shipper itself."""

import json
import os
from pathlib import Path

from mosaic_base.procfs import ProcessStat, process_stat
from mosaic_contracts.launch import (
    EXIT_FILE,
    KEPT_NOTES_FILE,
    NOTES_FILE,
    RUNNER_FILE,
    RUNNER_NOTES_FILE,
)
from mosaic_contracts.shipper_messages import Heartbeat, Progress
from mosaic_workerkit.progress import read_progress
from mosaic_workerkit.shipper.delivery import DeliveryState

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def heartbeat(delivery: DeliveryState) -> Heartbeat:
    """Return the heartbeat of this moment."""
    pid, process = _worker(delivery.run_dir)
    word = read_progress(delivery.run_dir)
    progress = Progress()
    if word is not None:
        progress = Progress(step=word.step, total=word.total, age_s=word.age_s)
    return Heartbeat(
        run_id=delivery.launch.run_id,
        attempt=delivery.launch.attempt,
        progress=progress,
        worker_pid=pid,
        worker_state=process.state if process else None,
        cpu_s=process.cpu_ticks / _TICKS if process else None,
        rss_bytes=process.rss_pages * _PAGE_BYTES if process else None,
        last_seq=max(delivery.reader.next_seq - 1, delivery.mark.seq),
        acked_seq=delivery.acked_seq,
        committed_seq=delivery.mark.seq,
        outbox_bytes=delivery.reader.unfreed_bytes(),
        waiting_for_outbox=delivery.reader.is_waited_for(),
        notes=worker_notes(delivery.run_dir),
    )


def worker_notes(run_dir: Path) -> list[str]:
    """Return the notes of worker and runner for the user."""
    notes: list[str] = []
    for name in (NOTES_FILE, KEPT_NOTES_FILE, RUNNER_NOTES_FILE):
        try:
            said = json.loads((run_dir / name).read_text())
            notes += [str(words) for words in said.values()]
        except FileNotFoundError:
            continue
        except (OSError, ValueError, AttributeError) as error:
            notes.append(f"the worker's notes cannot be read: {error}")
    return list(dict.fromkeys(notes))


def _worker(run_dir: Path) -> tuple[int | None, ProcessStat | None]:
    try:
        info = json.loads((run_dir / RUNNER_FILE).read_text())
    except (OSError, ValueError):
        return None, None
    pid = info.get("worker_pid")
    if pid is None or (run_dir / EXIT_FILE).exists():
        return pid, None
    process = process_stat(pid)
    # Another parent: the number was given to somebody else.
    parents = (info["runner_pid"], info.get("guard_pid"))
    return pid, process if process and process.parent in parents else None
