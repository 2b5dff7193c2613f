"""Formats a preflight's plan for display, and for saving with a run."""

import json
import shlex
from collections.abc import Iterable

from mosaic_contracts.preflight import PreflightReport
from mosaic_gui.state.language import tr

MOST_KEPT = 16_384
"""Characters of a plan that the stack keeps with a run."""


def plan_sections(report: PreflightReport) -> list[tuple[str, str]]:
    """Titles with their texts: what would be started, and how; the worker's own words last."""
    found: list[tuple[str, str]] = []
    launch, plan = report.launch, dict(report.plan)
    if launch is not None:
        found.append((tr("Command"), shell_lines(launch.command)))
    if isinstance(argv := plan.pop("argv", None), list):
        title = tr("Script") if launch is not None else tr("Command")
        found.append((title, shell_lines([str(word) for word in argv])))
    if launch is not None:
        found += [
            (tr("Image"), launch.image or tr("none: it runs as processes of this machine")),
            (tr("Environment"), _pairs(launch.environment.items())),
            (tr("Mounts"), "\n".join(launch.mounts)),
            (tr("GPU"), launch.devices),
            (tr("Network"), launch.network),
            (tr("Limits"), "\n".join(launch.limits)),
        ]
    for name, title in (("parameters", tr("Parameters")), ("packages", tr("Packages"))):
        if isinstance(values := plan.pop(name, None), dict):
            found.append((title, _pairs((k, json.dumps(v)) for k, v in values.items())))
    if plan:
        found.append((tr("Plan"), json.dumps(plan, indent=2, default=str)))
    return [(title, text) for title, text in found if text]


def plan_text(report: PreflightReport) -> str:
    """All of it as one text."""
    return "\n\n".join(f"# {title}\n{text}" for title, text in plan_sections(report))


def kept_text(report: PreflightReport) -> str:
    """All of it as it is kept with a run; what does not fit is left out, and said to be."""
    whole = plan_text(report)
    cut = "\n" + tr("… (cut)")
    return whole if len(whole) <= MOST_KEPT else whole[: MOST_KEPT - len(cut)] + cut


def shell_lines(argv: list[str]) -> str:
    """A command that a shell would take, options on lines of their own."""
    lines: list[str] = []
    for word in argv:
        quoted = shlex.quote(word)
        if lines and (len(lines[-1]) + len(quoted) < 60) and not word.startswith("--"):
            lines[-1] += f" {quoted}"
        else:
            lines.append(quoted)
    return " \\\n  ".join(lines)


def _pairs(items: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"{name}={value}" for name, value in items)
