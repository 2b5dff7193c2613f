"""`mosaic-pipe -- PROGRAM` outside a run: what MOSAIC would make of the program's output. Nothing is kept."""

import json
import math
import secrets
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mosaic_contracts.launch import SPEC_FILE, RunFile
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.wire import Log, Metric, event_type, to_event
from mosaic_workerkit.outbox.unshipped import read_unshipped

_ULID = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def try_program(train: Callable[[Path], int], spec: RunSpec, events: Path | None) -> int:
    """Run `train` in a run folder of its own; report what it recorded, and write it to `events` as JSON lines."""
    run_id = "0" + "".join(secrets.choice(_ULID) for _ in range(25))
    with tempfile.TemporaryDirectory(prefix="mosaic-pipe-") as folder:
        run_dir = Path(folder) / "run"
        run_dir.mkdir()
        run = RunFile(run_id=run_id, attempt=1, spec=spec.model_dump(mode="json"))
        (run_dir / SPEC_FILE).write_text(run.model_dump_json())
        code = train(run_dir)
        _say_sum(run_dir, run_id, events)
    return code


def _say_sum(run_dir: Path, run_id: str, events: Path | None) -> None:
    counts: Counter[str] = Counter()
    metrics: Counter[str] = Counter()
    with (events or Path("/dev/null")).open("w") as file:
        for batch, record in read_unshipped(run_dir, run_id):
            counts[event_type(record)] += 1
            if isinstance(record, Metric):
                metrics[record.name] += 1
            if isinstance(record, Log):
                _say(f"{record.level}: {record.message}")
            if events is not None:
                file.write(json.dumps(_plain(to_event(batch, record)), allow_nan=False) + "\n")
    _say(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    for name, count in metrics.most_common(20):
        _say(f"  {name}: {count}")
    if events is None:
        _say("this was a trial, nothing is kept; --events FILE writes the events down")


def _plain(value: Any) -> Any:
    """As strict JSON can say it: non-finite numbers by name, raw bytes in hex."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.hex() if isinstance(value, bytes) else value


def _say(text: str) -> None:
    print(f"mosaic-pipe: {text}", file=sys.stderr)  # noqa: T201 - said to a person
