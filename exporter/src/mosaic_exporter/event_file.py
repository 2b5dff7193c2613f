"""Writes a run's metrics, configuration and hyperparameters as a TensorBoard event file, with step and wall time."""

import logging
import shutil
from collections.abc import Iterator, Sequence
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
from mosaic_contracts.runs import MetricName
from mosaic_exporter.errors import ExportProblem
from mosaic_exporter.talk import Progress
from mosaic_exporter.unfinished import unfinished_folder

logging.getLogger("tensorboardX.x2num").setLevel(logging.ERROR)
"""It warns of each value that is not finite. TensorBoard shows them, so they are written as they are."""
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
    metrics = client.metrics(export.run_id)
    if not metrics:
        raise ExportProblem(f"Run {export.run_id} has recorded no metric.")
    draft = unfinished_folder(target)
    try:
        points = _write(client, export.run_id, draft, metrics, progress)
        if target.exists():
            target.rmdir()
        draft.rename(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return EventFileReport(folder=str(target), points=points, metrics=len(metrics))


def _write(
    client: Client,
    run_id: str,
    folder: Path,
    metrics: Sequence[MetricName],
    progress: Progress,
) -> int:
    count, total = 0, sum(one.points for one in metrics)
    with SummaryWriter(str(folder), filename_suffix=_SUFFIX) as writer:
        for event in _events(client, run_id):
            if event["type"] == "config":
                _write_config(writer, metrics, event)
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
    writer: SummaryWriter, metrics: Sequence[MetricName], event: dict[str, Any]
) -> None:
    config = event["data"]
    writer.add_text(CONFIG_TAG, config_table(config), 0, walltime=event["t"])
    for summary in hparams(hyperparameters(config), {one.name: 0.0 for one in metrics}):
        writer.file_writer.add_summary(summary, None, event["t"])
