"""Writes a report: reads the runs one after another, in bounded memory, and the page at the end."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mosaic_base.atomic import atomic_file
from mosaic_base.output_file import output_file
from mosaic_cli.errors import FileProblem, ValueRefused
from mosaic_cli.reporting.chart import RunLook
from mosaic_cli.reporting.curves import SYSTEM, ReportCurve, curve_names, in_order, read_curves
from mosaic_cli.reporting.films import rebuilt_film, recorded_films
from mosaic_cli.reporting.page import (
    ReportContent,
    ReportedRun,
    ReportFilm,
    page_html,
)
from mosaic_cli.wording import plural
from mosaic_client import light, reading
from mosaic_contracts.compat import UTC
from mosaic_contracts.exports import ExportProgress
from mosaic_contracts.file_jobs import MAX_REPORT_RUNS, FileJobPhase, FileJobProgress, PageReport
from mosaic_contracts.run_diff import DiffSide, compare_runs
from mosaic_contracts.run_names import distinct_names

if TYPE_CHECKING:
    from mosaic_client import Client

MAX_CURVES = 2_000
"""Curves in one page."""
MAX_POINTS = 150_000
"""Points of all curves in one page, before their bands."""
MOST_BUCKETS, FEWEST_BUCKETS = 600, 60
"""Points of one curve."""
_MAX_SIDES = 50
"""Runs whose properties are compared."""
_HEAD_BYTES = 2_000
_MARK = b'<meta name="generator" content="MOSAIC'

OnProgress = Callable[[FileJobProgress], None]


class ReportOptions(NamedTuple):
    """What a report is to have.

    Attributes:
        title: its heading; empty: made of the runs.
        film: whether the best episode of the best run is rebuilt.
    """

    title: str = ""
    film: bool = False


def write_report(
    client: "Client",
    runs: Sequence[light.RunFields],
    target: Path,
    options: ReportOptions,
    on_progress: OnProgress,
) -> PageReport:
    """Write a report.

    Args:
        client: of the stack that has the runs.
        runs: the runs, each once; of one its page, of several their comparison.
        target: file to write. An older report there is replaced at the end.
        options: what it is to have.
        on_progress: called often.

    Raises:
        ValueRefused: there is no run, or there are too many.
        FileProblem: the file cannot be written, or is something else than a report.
        ClientError: the stack does not answer.
    """
    if not 1 <= len(runs) <= MAX_REPORT_RUNS:
        raise ValueRefused(f"A report has 1 to {MAX_REPORT_RUNS} runs, not {len(runs)}.")
    file = _target(target)
    notes: list[str] = []
    reported = _looks(runs)
    charts, reported = _read(client, reported, on_progress, notes)
    films = _films(client, reported, options, on_progress, notes)
    sides = [_side(client, one) for one in reported[:_MAX_SIDES]]
    content = ReportContent(
        title=options.title or _title(runs),
        made_at=datetime.now(UTC),
        runs=reported,
        charts=charts,
        films=films,
        rows=compare_runs(sides),
        notes=notes,
    )
    page = page_html(content)
    try:
        with atomic_file(file) as draft:
            draft.write_bytes(page)
    except OSError as error:
        raise FileProblem(f"{target} cannot be written ({error.strerror}).") from error
    return PageReport(
        file=str(file),
        bytes=len(page),
        runs=len(runs),
        curves=sum(map(len, charts.values())),
        notes=notes,
    )


def points_of_a_curve(curves: int) -> int:
    """How many points a curve may have.

    Args:
        curves: number of curves in the page.
    """
    return max(FEWEST_BUCKETS, min(MOST_BUCKETS, MAX_POINTS // max(1, curves)))


def chosen_names(counts: Counter[str]) -> list[str]:
    """Curves of a page, in order: as many as fit, and the first in any case.

    Args:
        counts: how many runs have each curve.
    """
    chosen: list[str] = []
    curves = 0
    for name in in_order(list(counts), counts):
        if chosen and curves + counts[name] > MAX_CURVES:
            continue
        chosen.append(name)
        curves += counts[name]
    return chosen


def _target(target: Path) -> Path:
    try:
        file = output_file(target)
        if file.is_dir():
            raise IsADirectoryError(21, "it is a folder", str(target))
        if not file.parent.is_dir():
            raise FileNotFoundError(2, "its folder does not exist", str(target))
        if file.exists() and file.stat().st_size:
            with file.open("rb") as opened:
                if _MARK not in opened.read(_HEAD_BYTES):
                    raise FileProblem(f"{target} exists and is no report. Name another file.")
    except OSError as error:
        raise FileProblem(f"{target} cannot be written ({error.strerror}).") from error
    return file


def _looks(runs: Sequence[light.RunFields]) -> list[ReportedRun]:
    """Name runs by what differs; those that differ in their seeds alone look alike."""
    names = distinct_names(runs)
    groups: dict[str, int] = {}
    looks = []
    for n, (run, name, group) in enumerate(
        zip(runs, names, distinct_names(runs, seeds=False), strict=True)
    ):
        look = groups.setdefault(group, len(groups))
        looks.append(ReportedRun(run, RunLook(n, name, look), {}))
    return looks


def _read(
    client: "Client",
    reported: Sequence[ReportedRun],
    on_progress: OnProgress,
    notes: list[str],
) -> tuple[dict[str, list[tuple[RunLook, ReportCurve]]], list[ReportedRun]]:
    """Read curves and configurations. No more of a run is held than the page shows."""
    total = 2 * len(reported)
    names = []
    for n, one in enumerate(reported):
        on_progress(FileJobProgress(phase=FileJobPhase.RUNS, done=n, total=total))
        names.append(curve_names(client, one.run.run_id))
    counts = Counter(name for found in names for name in found)
    chosen = chosen_names(counts)
    buckets = points_of_a_curve(sum(counts[name] for name in chosen))
    charts: dict[str, list[tuple[RunLook, ReportCurve]]] = {name: [] for name in chosen}
    read = []
    for n, (one, found) in enumerate(zip(reported, names, strict=True)):
        done = len(reported) + n
        on_progress(FileJobProgress(phase=FileJobPhase.RUNS, done=done, total=total))
        wanted = [name for name in chosen if name in set(found)]
        for curve in read_curves(client, one.run.run_id, wanted, buckets):
            if any(part.x for part in curve.parts):
                charts[curve.name].append((one.look, curve))
        is_compared = n < _MAX_SIDES
        config = reading.config(client, one.run.run_id) if is_compared else {}
        read.append(one._replace(config=config))
    _note_curves(counts, charts, buckets, notes)
    return {name: curves for name, curves in charts.items() if curves}, read


def _note_curves(
    counts: Counter[str],
    charts: dict[str, list[tuple[RunLook, ReportCurve]]],
    buckets: int,
    notes: list[str],
) -> None:
    left_out = [name for name in counts if name not in charts]
    if left_out:
        of_machine = all(name.startswith(SYSTEM) for name in left_out)
        notes.append(
            f"{plural(len(left_out), 'metric')} left out{' (of the machine)' if of_machine else ''}: a page has up to "
            f"{MAX_CURVES:,} curves."
        )
    thinned = sum(curve.thinned for curves in charts.values() for _, curve in curves)
    if thinned:
        notes.append(
            f"{plural(thinned, 'curve')} of more than {buckets} points: drawn as means of up to {buckets} stretches. "
            "The band has the lowest and highest values, so no spike is lost."
        )


def _films(
    client: "Client",
    reported: Sequence[ReportedRun],
    options: ReportOptions,
    on_progress: OnProgress,
    notes: list[str],
) -> list[ReportFilm]:
    ranked = sorted(reported, key=_best_return, reverse=True)
    films = []
    if options.film:
        film = rebuilt_film(client, ranked[0], lambda now: on_progress(_drawn(now)), notes.append)
        films = [] if film is None else [film]
    return films or recorded_films(client, ranked, notes.append)


def _drawn(now: ExportProgress) -> FileJobProgress:
    return FileJobProgress(phase=FileJobPhase.FILM, done=now.done, total=now.total)


def _best_return(one: ReportedRun) -> float:
    summary = one.run.summary
    best = summary.best_return if summary is not None else None
    return -math.inf if best is None or math.isnan(best) else best


def _side(client: "Client", one: ReportedRun) -> DiffSide:
    metrics = {row.name: row.last_value for row in reading.metrics(client, one.run.run_id)}
    return DiffSide(one.run.plain(), one.config, metrics)


def _title(runs: Sequence[light.RunFields]) -> str:
    if len(runs) == 1:
        return distinct_names(runs)[0]
    groups = {run.group for run in runs}
    if len({group.group_id if group is not None else "" for group in groups}) == 1:
        (name,) = {group.name if group is not None else "" for group in groups}
        if name:
            return name
    algorithms = list(dict.fromkeys(run.spec.algorithm for run in runs))
    environments = list(dict.fromkeys(run.spec.environment for run in runs))
    return f"{', '.join(algorithms)} on {', '.join(environments)}"
