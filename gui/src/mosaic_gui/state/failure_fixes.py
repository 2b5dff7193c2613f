"""Suggested fixes after a failure: the run with a changed argument, or the form opened at a field."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mosaic_contracts.runs import RunEnd, RunView
from mosaic_contracts.states import EndCause
from mosaic_gui.state.language import grouped, tr

NO_CUDA = re.compile(
    r"CUDA.*(not available|unavailable|driver)|no CUDA|Found no NVIDIA|not compiled with CUDA", re.I
)
NO_MEMORY = re.compile(
    r"Killed\b|Cannot allocate memory|MemoryError|CUDA out of memory|OutOfMemoryError|Unable to allocate",
    re.I,
)
NO_FILE = re.compile(r"can't open file ['\"]?([^'\"\n]+?)['\"]?(?:[:\s]|$)", re.I)
NO_NUMBER = re.compile(r"\bnan\b.*(loss|expected|invalid)|found invalid values|\bNaN\b", re.I)
_FAULTY = re.compile(r"(?:Value|Type|Assertion)?Error\b|error: argument|invalid|must be", re.I)
SANE_RATE = 1e-3
"""Learning rate where the one before was not a number."""
SMALLER = 4
"""Divisor of a buffer's size after the memory was exhausted."""


@dataclass(frozen=True)
class Fix:
    """A change of the spec that may help, offered as a button."""

    label: str
    overrides: dict[str, Any] = field(default_factory=dict)
    where: str = ""
    """The field of the form that is opened instead of a launch."""
    resumes: bool = False
    """Resume from the run's newest checkpoint, without changes."""


def fixes(run: RunView, end: RunEnd, arguments: Mapping[str, Any]) -> list[Fix]:
    """Buttons for a run's end, the likeliest first.

    Args:
        arguments: all parameters as the run had them, with defaults.
    """
    text = "\n".join([end.message, *end.last_lines])
    found: list[Fix] = []
    is_interrupted = end.cause in (EndCause.INTERRUPTED, EndCause.DISK_LOW)
    if is_interrupted and run.summary is not None and run.summary.checkpoints:
        found.append(Fix(tr("Resume"), resumes=True))
    if NO_CUDA.search(text):
        found += _on_the_cpu(run, arguments)
    if end.cause is EndCause.OUT_OF_MEMORY or NO_MEMORY.search(text):
        found += _with_memory(run, end, arguments)
    if end.cause is EndCause.START_DEADLINE:
        longer = run.spec.start_deadline_s * 3
        label = tr("Run again with a start deadline of {seconds} s", seconds=f"{longer:.0f}")
        found.append(Fix(label, {"start_deadline_s": longer}))
    if end.cause is EndCause.WALL_TIME and run.spec.wall_time_s:
        found.append(
            Fix(tr("Run again with twice the time"), {"wall_time_s": run.spec.wall_time_s * 2})
        )
    if NO_NUMBER.search(text) and (rate := _number(arguments, "learning_rate")):
        slower = float(f"{rate / 10:.3g}") if rate <= 1 else SANE_RATE
        changed = {"parameters": {"learning_rate": slower}}
        found.append(Fix(_again("learning_rate", f"{slower:g}"), changed))
        found.append(_change("learning_rate"))
    elif name := faulty_parameter(end, arguments):
        found.append(_change(name))
    if NO_FILE.search(text) and "script" in arguments:
        found.append(Fix(tr("Choose another script"), where="parameters.script"))
    return found


def faulty_parameter(end: RunEnd, arguments: Mapping[str, Any]) -> str | None:
    """The argument that the last line names, where that line is of a wrong value."""
    last = next((line for line in reversed(end.last_lines) if line.strip()), "")
    if end.cause is not EndCause.EXIT_CODE or not _FAULTY.search(last):
        return None
    words = re.sub(r"[-_\s]+", "_", last.lower())
    named = [
        name
        for name in arguments
        if re.search(rf"(?<![a-z0-9]){re.escape(name.lower())}(?![a-z0-9])", words)
    ]
    return max(named, key=len, default=None)


def _again(name: str, value: str) -> str:
    return tr("Run again with {name} {value}", name=name, value=value)


def _change(name: str) -> Fix:
    return Fix(tr("Change {name}", name=name), where=f"parameters.{name}")


def _on_the_cpu(run: RunView, arguments: Mapping[str, Any]) -> list[Fix]:
    changed: dict[str, Any] = {"gpus": 0} if run.spec.gpus else {}
    switched: dict[str, Any] = {}
    for name, value in arguments.items():
        if value is True and "cuda" in name.lower():
            switched[name] = False
        elif isinstance(value, str) and value.lower().startswith("cuda"):
            switched[name] = "cpu"
    if switched:
        changed["parameters"] = switched
    return [Fix(tr("Run again on the CPU"), changed)] if changed else []


def _with_memory(run: RunView, end: RunEnd, arguments: Mapping[str, Any]) -> list[Fix]:
    found = []
    if end.cause is EndCause.OUT_OF_MEMORY and run.spec.memory_mb:
        more = run.spec.memory_mb * 2
        label = tr("Run again with {size} MiB", size=grouped(more))
        found.append(Fix(label, {"memory_mb": more}))
    for name in ("buffer_size", "num_envs", "batch_size"):
        size = _number(arguments, name)
        if size and size >= 2:
            smaller = max(1, int(size) // SMALLER)
            changed = {"parameters": {name: smaller}}
            found.append(Fix(_again(name, grouped(smaller)), changed))
            break
    return found


def _number(arguments: Mapping[str, Any], name: str) -> float | None:
    value = arguments.get(name)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and value is not None else None
