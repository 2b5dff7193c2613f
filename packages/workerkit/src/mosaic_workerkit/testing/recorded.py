"""Run folders without a stack: a worker records into one, and its events are read back."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mosaic_contracts.launch import SPEC_FILE
from mosaic_contracts.wire import to_event
from mosaic_workerkit.control import StopFlag
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.outbox.unshipped import read_unshipped
from mosaic_workerkit.telemetry import Telemetry

RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
"""Run id of these folders."""


def write_spec(run_dir: Path, spec: dict[str, Any]) -> None:
    """Make a run folder with the spec of its first attempt."""
    run_dir.mkdir(parents=True, exist_ok=True)
    run = {"run_id": RUN_ID, "attempt": 1, "spec": spec}
    (run_dir / SPEC_FILE).write_text(json.dumps(run), encoding="utf-8")


def open_context(run_dir: Path) -> TrainContext:
    """Open the telemetry of a run folder, which the caller closes, and return what a worker is given."""
    telemetry = Telemetry.open(run_dir)
    return TrainContext(run_dir=run_dir, spec=telemetry.spec, telemetry=telemetry, stop=StopFlag())


def record_run(
    run_dir: Path, method: Callable[[TrainContext], None], spec: dict[str, Any]
) -> list[dict[str, Any]]:
    """Call a worker's `train`, `play` or `replay` in this process, with the run folder as the current one.

    Args:
        run_dir: folder of the run, made if it is missing.
        method: of the worker.
        spec: fields of the run's spec.

    Returns:
        The events that it recorded, in order.
    """
    write_spec(run_dir, {"outbox_bytes": 64 * 2**20, **spec})
    before = Path.cwd()
    os.chdir(run_dir)
    try:
        context = open_context(run_dir)
        try:
            method(context)
        finally:
            context.telemetry.close()
    finally:
        os.chdir(before)
    return read_events(run_dir)


def read_events(run_dir: Path) -> list[dict[str, Any]]:
    """Return the events of the first attempt so far, in order."""
    return [to_event(batch, record) for batch, record in read_unshipped(run_dir, RUN_ID)]


def of_type(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return the events of one type."""
    return [event for event in events if event["type"] == kind]
