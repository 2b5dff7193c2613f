"""Details of a run by name: where it comes from, what it may use, what it ran with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mosaic_contracts.machine import RESOURCE_METRICS
from mosaic_contracts.runs import RunView
from mosaic_gui.state import wording
from mosaic_gui.state.episodes import sample_words
from mosaic_gui.state.language import mark, tr, tr_mark, tr_n

if TYPE_CHECKING:
    from mosaic_gui.state.curves import RunCurves

Row = tuple[str, str]


def details(run: RunView, config: Mapping[str, Any], used: Sequence[Row] = ()) -> list[Row]:
    """Rows for a table. `config`: data of its config event, empty before that came; `used`: see `use_rows`."""
    spec = run.spec
    rows = [
        (tr("Run"), run.run_id),
        (tr("Worker"), f"{spec.worker} {run.worker_version or ''}".strip()),
        (tr("Recording"), spec.record.value),
        (tr("Created"), wording.moment(run.created_at)),
        (tr("Seed"), str(spec.seed)),
        (tr("Resources"), _resources(run)),
        *used,
    ]
    reported = (
        (tr("Image"), run.image),
        (tr("Attempt"), str(run.attempt) if run.attempt > 1 else None),
        (tr("Episodes"), sample_words(run)),
        (tr("Tags"), ", ".join(run.tags)),
        (tr("Your note"), run.note.strip().split("\n", 1)[0]),
        (tr("Alerts"), " · ".join(f"{one.rule}: {one.message}" for one in run.alerts)),
        (tr("What it says"), " · ".join(run.notes)),
    )
    rows += [(name, value) for name, value in reported if value]
    rows += _code_rows(config)
    arguments = config.get("arguments") or spec.parameters
    above = {"seed": spec.seed}  # a row of its own above
    rows += [
        (str(key), _value_text(value))
        for key, value in arguments.items()
        if key not in above or above[key] != value
    ]
    packages = config.get("packages") or {}
    rows += [(tr("{name} (package)", name=name), str(v)) for name, v in packages.items()]
    return rows


def _code_rows(config: Mapping[str, Any]) -> list[Row]:
    """What the run recorded of its code: commit, interpreter, number of packages."""
    rows = []
    git = config.get("git")
    if isinstance(git, Mapping) and git.get("commit"):
        commit = str(git["commit"])[:12]
        text = tr("{commit} and changes since", commit=commit) if git.get("dirty") else commit
        rows.append((tr("Commit"), text))
    if config.get("interpreter"):
        rows.append((tr("Interpreter"), str(config["interpreter"])))
    installed = config.get("installed")
    if isinstance(installed, Mapping):
        rows.append((tr("Packages"), tr_n("{n} package", "{n} packages", len(installed))))
    return rows


def use_rows(curves: RunCurves) -> list[Row]:
    """Resource use of the run's processes: the last and the highest figure of each kind."""
    rows = []
    for name, title, form in _USE:
        series = curves.series.get(RESOURCE_METRICS + name)
        known = [v for v in series.values.tolist() if math.isfinite(v)] if series else []
        if known:
            last, most = form(known[-1]), form(max(known))
            rows.append((tr_mark(title), tr("last {last}, peak {most}", last=last, most=most)))
    return rows


def _percent(value: float) -> str:
    return f"{value:.0f} %"


_USE = (
    ("cpu_percent", mark("CPU used"), _percent),
    ("rss_bytes", mark("RAM used"), wording.bytes_text),
    ("gpu_percent", mark("GPU busy"), _percent),
    ("gpu_memory_bytes", mark("GPU memory used"), wording.bytes_text),
)


def _resources(run: RunView) -> str:
    spec = run.spec
    parts = [tr_n("{n} core", "{n} cores", spec.cpus)]
    if spec.gpus and spec.gpu_memory_mb:
        size = wording.count(spec.gpu_memory_mb)
        parts.append(
            tr_n("{n} GPU ({size} MiB of it)", "{n} GPUs ({size} MiB each)", spec.gpus, size=size)
        )
    elif spec.gpus:
        parts.append(tr_n("{n} GPU", "{n} GPUs", spec.gpus))
    if spec.memory_mb:
        parts.append(f"{wording.count(spec.memory_mb)} MiB")
    if spec.internet:
        parts.append(tr("internet"))
    return ", ".join(parts)


def _value_text(value: object) -> str:
    if value is None:
        return wording.NOTHING
    return str(value).lower() if isinstance(value, bool) else str(value)
