"""Summary that is shown of a run that has ended."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from mosaic_cli.target import is_elsewhere
from mosaic_cli.wording import STATE_STYLE, duration, number, run_duration, state_words, what
from mosaic_client import light
from mosaic_contracts.states import RunState

if TYPE_CHECKING:
    from mosaic_cli.wording import AnyRun
    from mosaic_contracts.runs import ArtifactRow, RunSummary, RunView

    AnyArtifact = ArtifactRow | light.ArtifactFields
    AnySummary = RunSummary | light.SummaryFields

_BAD_ENDS = (RunState.FAILED, RunState.CRASHED, RunState.TIMED_OUT, RunState.INTERRUPTED)


def run_result(run: "RunView") -> dict[str, Any]:
    """The object that `demo --json` and `run --json` print at the end."""
    from mosaic_contracts.runs import RunSummary

    summary = run.summary or RunSummary(run_id=run.run_id)
    worker = [mark.last_seq for mark in summary.sources if mark.source == "worker"]
    return {
        "run_id": run.run_id,
        "state": run.state.value,
        "cause": run.end.cause.value if run.end else None,
        "steps": run.step,
        "total_steps": run.total_steps,
        "episodes": summary.episodes,
        "episodes_played": max(summary.episodes_played, summary.episodes),
        "best_return": summary.best_return,
        "telemetry": {
            "events": summary.events,
            "last_seq": max(worker, default=0),
            "gaps": summary.gaps,
            "dropped": summary.dropped,
        },
    }


def print_summary(
    console: Console, run: "AnyRun", artifacts: "Sequence[AnyArtifact]", home: Path
) -> None:
    """A short table: how it ended, how good it got, what is stored, where it lies."""
    console.print()
    for name, value in rows(run, artifacts, home):
        # no table: a path that is cut into pieces cannot be copied
        console.print(Text.assemble((f"{name:<12} ", "dim"), value), soft_wrap=True)
    if run.end and run.end.last_lines and run.state in _BAD_ENDS:
        console.print("\nThe last lines of its output:", style="dim")
        for line in run.end.last_lines[-12:]:
            console.print(f"  {line}", markup=False, soft_wrap=True)


def rows(run: "AnyRun", artifacts: "Sequence[AnyArtifact]", home: Path) -> list[tuple[str, Text]]:
    """Names and values of the summary."""
    summary = run.summary or light.SummaryFields()
    ended = Text(state_words(run), STATE_STYLE[run.state])
    if run.end:
        ended.append(f": {run.end.message}", "default")
    base = folder_of(run, home)
    found = [
        ("run", Text(run.run_id)),
        ("what", Text(what(run))),
        ("state", ended),
        ("took", Text(f"{run_duration(run)}{_speed(run)}")),
        ("steps", Text(_steps(run))),
        ("episodes", Text(_returns(summary))),
        ("stored", Text(_stored(run, summary))),
    ]
    if run.started_at is not None:  # before that it has none
        found.append(("folder", Text(str(base))))
    by_kind = {row.kind: row for row in artifacts}
    if (board := by_kind.get("tensorboard")) is not None:
        found.append(("TensorBoard", Text(str(base / board.path))))
    checkpoints = [row for row in artifacts if row.kind == "checkpoint" and row.exists]
    if checkpoints:
        last = max(checkpoints, key=lambda row: row.step or 0)
        found.append(("checkpoint", Text(str(base / last.path))))
    return found


def folder_of(run: "AnyRun", home: Path) -> Path:
    """Where a run's files lie: relative to the current folder where they are below it, shorter and as good to type.

    Of a run elsewhere the path below that stack's MOSAIC_HOME: what lies here under the same name is not its.
    """
    if is_elsewhere():
        return Path("MOSAIC_HOME of its stack", run.run_dir)
    path = home / run.run_dir
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _speed(run: "AnyRun") -> str:
    return f" ({number(run.sps, 0)} steps/s)" if run.sps else ""


def _steps(run: "AnyRun") -> str:
    """How far it came, and of how many steps where it ended before those."""
    total = run.total_steps
    if total is None or total <= run.step:
        return f"{run.step:,}"
    asked = " asked for" if run.spec.steps == total else ""
    return f"{run.step:,} of {total:,}{asked}"


def _returns(summary: "AnySummary") -> str:
    if not summary.episodes:
        played = f", {summary.episodes_played:,} played" if summary.is_sample else ""
        return f"none recorded{played}" if played else "none finished"
    best = f"best return {number(summary.best_return)}"
    mean = f"mean of the last 20 {number(summary.mean_return)}"
    if summary.is_sample:
        return (
            f"{summary.episodes_played:,} played, {summary.episodes:,} recorded; "
            f"of this sample: {best}, {mean}"
        )
    return f"{summary.episodes:,}, {best}, {mean}"


def _stored(run: "AnyRun", summary: "AnySummary") -> str:
    words = [f"{summary.events:,} events", f"{summary.gaps:,} gaps"]
    if summary.dropped:
        words.append(f"{summary.dropped:,} steps not recorded by the worker")
    if summary.thinned_steps:
        words.append(f"{summary.thinned_steps:,} steps thinned by {summary.thinned_by}")
    if summary.quarantined:
        words.append(f"{summary.quarantined:,} batches set aside")
    if run.telemetry_pending:
        words.append("more is on its way")
    if summary.span_s is not None:
        words.append(f"over {duration(summary.span_s)}")
    return ", ".join(words)
