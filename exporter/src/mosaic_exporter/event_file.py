"""Writes a run's metrics, configuration and hyperparameters as a TensorBoard event file, with step and wall time."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tensorboardX import SummaryWriter
from tensorboardX.summary import hparams

from mosaic_client import Client
from mosaic_contracts.dashboards import CONFIG_TAG, config_table, hyperparameters
from mosaic_contracts.exports import (
    EventFileExport,
    EventFileReport,
    ExportPhase,
    ExportProgress,
)
from mosaic_exporter.errors import ExportProblem
from mosaic_exporter.talk import Progress

_PAGE = 1_000
_SUFFIX = ".mosaic"


def make_event_file(client: Client, export: EventFileExport, progress: Progress) -> EventFileReport:
    """Write one event file into a new folder.

    Args:
        client: of the stack that has the run.
        export: the run, and the folder.
        progress: called with the number of metric values that were read.

    Raises:
        ExportProblem: the folder holds something already, or the run has recorded no metric.
        OSError: it cannot be written.
    """
    target = Path(export.target)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ExportProblem(f"{target} exists and is not empty. Name a new folder.")
    names = client.metrics(export.run_id)
    if not names:
        raise ExportProblem(f"Run {export.run_id} has recorded no metric.")
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        points = _write(client, export.run_id, draft, sum(one.points for one in names), progress)
        if target.exists():
            target.rmdir()
        draft.rename(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return EventFileReport(folder=str(target), points=points, metrics=len(names))


def _write(client: Client, run_id: str, folder: Path, total: int, progress: Progress) -> int:
    count = 0
    with SummaryWriter(str(folder), filename_suffix=_SUFFIX) as writer:
        for event in _events(client, run_id):
            if event["type"] == "config":
                _write_config(writer, client, run_id, event)
                continue
            writer.add_scalar(
                event["name"], float(event["value"]), event["step"] or 0, walltime=event["t"]
            )
            count += 1
            progress(ExportProgress(phase=ExportPhase.READING, done=count, total=total))
    return count


def _events(client: Client, run_id: str) -> Iterator[dict[str, Any]]:
    cursor, has_more = "", True
    while has_more:
        page = client.events(run_id, cursor, _PAGE, ["config", "metric"])
        yield from page.events
        cursor, has_more = page.cursor, page.has_more


def _write_config(
    writer: SummaryWriter, client: Client, run_id: str, event: dict[str, Any]
) -> None:
    config = event["data"]
    writer.add_text(CONFIG_TAG, config_table(config), 0, walltime=event["t"])
    metrics = {one.name: 0.0 for one in client.metrics(run_id)}
    for summary in hparams(hyperparameters(config), metrics):
        writer.file_writer.add_summary(summary, None, event["t"])
