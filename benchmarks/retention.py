"""What retention costs: a plan over many runs and files, and ingest next to a janitor that works.

    var/venvs/tests/bin/python benchmarks/retention.py [--runs N] [--files N] [--rounds N]

Method: a real stack makes one run. While it is down, copies of that run's record are put into its database, each with a
report of `--files` files (checkpoints, videos, event files, W&B files, logs) in its store and with these files on disk.
The stack is started again. `plan_cold_s` is the first plan of a scheduler that knows no file yet; `plan_warm_s` the
median of five plans after that; both as a client sees them. `..._cpu_s` is the CPU time of all services meanwhile: it
depends little on what else the machine does. Then one synthetic run writes 10,000 events/s (`--rate`; 0: as fast as it
can), in `--rounds` pairs of windows of 20 s: nothing else, and with the janitor, which looks and then removes for five
seconds, as after the end of a run. The ratio is that of the events/s that reach the store, the median of the pairs.
`removed_per_s`: files moved to the trash in that time. One JSON object on stdout.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from past_runs import add_records
from warm_stack import WarmStack

from mosaic_client import Client
from mosaic_contracts.manifest import FileReport, ReportedFile, kind_of
from mosaic_contracts.manifest_words import RUN_FILES
from mosaic_contracts.stack import RUNS_DIR, TELEMETRY_DB
from mosaic_contracts.wire import (
    SOURCE_SUPERVISOR,
    SOURCE_WORKER,
    BatchHead,
    Checkpoint,
    Extra,
    Record,
    encode_record,
    join_batch,
)
from mosaic_store import StreamCursor, open_writer, read_batch
from mosaic_store.batch import pack

WINDOW_S = 20.0
PROFILES = """
automatic: false
default: measured
profiles:
  measured:
    rules:
      - {kind: checkpoint, keep_best: 1, keep_last: 1, keep_every: 5}
      - {kind: video, keep_last: 2}
      - {kind: tensorboard, scope: group, max_count: 20}
      - {kind: wandb, scope: all, max_count: 20}
"""
_PATHS = (
    ("checkpoints/{}.pt", 20),
    ("videos/0_{}_0.mp4", 10),
    ("tensorboard/events.out.tfevents.{}", 5),
    ("wandb/run/files/{}.json", 10),
    ("logs/{}.log", 5),
)
"""Paths, and how many of 50 files have such a one."""
_T0_US = 1_700_000_000_000_000
_BYTES = 100


def paths_of(files: int) -> list[str]:
    """Files of one run."""
    return [path.format(n) for path, share in _PATHS for n in range(files * share // 50)]


def add_files(home: Path, run_ids: list[str], files: int) -> None:
    """Put files on disk, and into the store what events say of them."""
    paths = paths_of(files)
    with open_writer(home / TELEMETRY_DB) as writer:
        batches = []
        for number, run_id in enumerate(run_ids):
            folder = home / RUNS_DIR / run_id
            for path in paths:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(bytes(_BYTES))
            batches += [_batch(run_id, SOURCE_WORKER, _checkpoints(paths))]
            batches += [_batch(run_id, SOURCE_SUPERVISOR, [_report(paths)])]
            if len(batches) >= 200 or number == len(run_ids) - 1:
                writer.apply(batches, StreamCursor("past", 1))
                batches = []


def _batch(run_id: str, source: str, records: list[Record]):  # type: ignore[no-untyped-def]  # of the store
    head = BatchHead(run_id, 1, source, 1, len(records))
    payload = join_batch(head, _T0_US, b"".join(map(encode_record, records)))
    return read_batch(pack(payload), "zstd")


def _checkpoints(paths: list[str]) -> list[Record]:
    found = [path for path in paths if path.startswith("checkpoints/")]
    return [
        Checkpoint(n, n, path, n * 1000, "0" * 64, _BYTES, "periodic", {"mean_return_20": n % 7})
        for n, path in enumerate(found, 1)
    ]


def _report(paths: list[str]) -> Record:
    files = [
        ReportedFile(path=path, kind=kind_of(path), bytes=_BYTES, mtime_us=_T0_US, sha256="0" * 64)
        for path in paths
    ]
    report = FileReport(files=files).model_dump(mode="json", exclude_defaults=True)
    return Extra(1, 1, RUN_FILES, report)


def plans(stack: WarmStack, client: Client) -> dict[str, float]:
    """How long plans take, by the clock and in CPU time of all services."""
    took: list[float] = []
    cpu: list[float] = []
    for _ in range(6):
        before, begun = sum(stack.service_cpu_s().values()), time.perf_counter()
        plan = client.plan_prune(limit=1)
        took.append(time.perf_counter() - begun)
        cpu.append(sum(stack.service_cpu_s().values()) - before)
    return {
        "plan_cold_s": round(took[0], 2),
        "plan_cold_cpu_s": round(cpu[0], 2),
        "plan_warm_s": round(statistics.median(took[1:]), 2),
        "plan_warm_cpu_s": round(statistics.median(cpu[1:]), 2),
        "planned_files": plan.files,
    }


def rates(stack: WarmStack, client: Client, rounds: int, rate: int) -> dict[str, object]:
    """Events/s that reach the store, without and with the janitor."""
    view = stack.submit(
        "synthetic",
        "synthetic",
        "Synthetic-v0",
        steps=10**8,
        record="replay",
        parameters={"rate": rate},
    )
    stack.wait_stored(view.run_id, 50_000)
    ratios, removed = [], 0
    without: list[float] = []
    with stack.reader() as reader:

        def window(*, janitor: bool) -> float:
            nonlocal removed
            before, begun = reader.summary(view.run_id).events, time.perf_counter()
            if janitor:
                removed += client.prune().files
            time.sleep(max(0.0, begun + WINDOW_S - time.perf_counter()))
            took = time.perf_counter() - begun
            return (reader.summary(view.run_id).events - before) / took

        for number in range(rounds):
            first = window(janitor=number % 2 == 1)
            second = window(janitor=number % 2 == 0)
            bare, busy = (second, first) if number % 2 else (first, second)
            without.append(bare)
            ratios.append(busy / bare)
    client.stop(view.run_id)
    stack.wait_final(view.run_id)
    return {
        "events_per_s": round(statistics.median(without)),
        "ratio_with_janitor": round(statistics.median(ratios), 3),
        "ratios": [round(ratio, 3) for ratio in ratios],
        "removed_per_s": round(removed / rounds / 5),
    }


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--files", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--rate", type=int, default=10_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mosaic-retention-") as folder:
        stack = WarmStack(Path(folder) / "home")
        (stack.home / "storage_profiles.yaml").write_text(PROFILES)
        stack.start()
        like = stack.submit("synthetic", "synthetic", "Synthetic-v0", steps=100)
        stack.wait_final(like.run_id)
        stack.stop()
        run_ids = add_records(stack.home, like.run_id, asked.runs)
        add_files(stack.home, run_ids, asked.files)
        os.sync()  # or the disk is busy with these files while it is measured
        stack.start()
        try:
            with stack.client() as client:
                result: dict[str, object] = {
                    "runs": asked.runs,
                    "files": asked.runs * len(paths_of(asked.files)),
                    **plans(stack, client),
                }
                if asked.rounds:
                    result |= rates(stack, client, asked.rounds, asked.rate)
        finally:
            stack.stop()
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
