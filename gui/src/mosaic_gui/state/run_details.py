"""All that is known of a run beside its curves, by name: where it comes from, what it may use, what it ran with."""

from collections.abc import Mapping
from typing import Any

from mosaic_contracts.machine import RESOURCE_METRICS
from mosaic_contracts.runs import RunView
from mosaic_gui.state import wording
from mosaic_gui.state.curves import RunCurves

Row = tuple[str, str]


def details(run: RunView, config: Mapping[str, Any]) -> list[Row]:
    """Rows for a table. `config`: data of its config event, empty before that came."""
    spec = run.spec
    rows = [
        ("Run", run.run_id),
        ("Worker", f"{spec.worker} {run.worker_version or ''}".strip()),
        ("Recording", spec.record.value),
        ("Created", run.created_at.astimezone().strftime("%d %b %Y, %H:%M:%S")),
        ("Seed", str(spec.seed)),
        ("Resources", _resources(run)),
    ]
    told = {
        "Image": run.image,
        "Attempt": str(run.attempt) if run.attempt > 1 else None,
        "Tags": ", ".join(run.tags),
        "Your note": run.note.strip().split("\n", 1)[0],
        "What it says": " · ".join(run.notes),
    }
    rows += [(name, value) for name, value in told.items() if value]
    arguments = config.get("arguments") or spec.parameters
    rows += [(str(key), _value_text(value)) for key, value in arguments.items()]
    rows += [(f"{key} (package)", str(v)) for key, v in (config.get("packages") or {}).items()]
    return rows


def use_facts(curves: RunCurves) -> list[Row]:
    """What the run's processes use now, as far as the machine tells: name and value."""
    facts = []
    for name, title, form in _USE:
        series = curves.series.get(RESOURCE_METRICS + name)
        if series is not None and len(series):
            facts.append((title, form(float(series.values[-1]))))
    return facts


def _percent(value: float) -> str:
    return f"{value:.0f} %"


_USE = (
    ("cpu_percent", "CPU", _percent),
    ("rss_bytes", "RAM", wording.bytes_text),
    ("gpu_percent", "GPU", _percent),
    ("gpu_memory_bytes", "GPU memory", wording.bytes_text),
)


def _resources(run: RunView) -> str:
    spec = run.spec
    parts = [wording.plural(spec.cpus, "core")]
    if spec.gpus:
        shared = f" ({spec.gpu_memory_mb:,} MiB each)" if spec.gpu_memory_mb else ""
        parts.append(wording.plural(spec.gpus, "GPU") + shared)
    if spec.memory_mb:
        parts.append(f"{spec.memory_mb:,} MiB")
    if spec.internet:
        parts.append("internet")
    return ", ".join(parts)


def _value_text(value: object) -> str:
    if value is None:
        return wording.NOTHING
    return str(value).lower() if isinstance(value, bool) else str(value)
