"""Numbers, times and states as people read them."""

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mosaic_contracts.choices import RunKind
from mosaic_contracts.states import RunState, shown_state

if TYPE_CHECKING:
    from mosaic_client import light
    from mosaic_contracts.runs import RunView

    AnyRun = RunView | light.RunFields

STATE_STYLE = {
    RunState.QUEUED: "cyan",
    RunState.STARTING: "cyan",
    RunState.RUNNING: "blue",
    RunState.STOPPING: "yellow",
    RunState.SUCCEEDED: "green",
    RunState.FAILED: "red",
    RunState.CRASHED: "red",
    RunState.CANCELLED: "yellow",
    RunState.TIMED_OUT: "red",
    RunState.INTERRUPTED: "yellow",
}


SHORTEST_ID = 10
"""A ULID's first ten characters are its time; they seldom meet again."""
SAMPLE_MARK = "*"
STALE_NOTE = (
    "The scheduler does not answer. This is what was last known of these runs, and it may be old; "
    "runs that wait may be missing. `./mosaic status` says more."
)
SAMPLE_NOTE = f"{SAMPLE_MARK} of the recorded episodes, a sample of those that were played"
_KINDS = {
    RunKind.EVALUATE: "evaluation",
    RunKind.PLAY: "play",
    RunKind.REPLAY: "replay",
    RunKind.DASHBOARD: "TensorBoard",
    RunKind.SWEEP: "sweep",
    RunKind.SYNC: "W&B sync",
    RunKind.IMPORT: "imported checkpoint",
}
"""What a run does that does not train."""
LEVEL_STYLE = {"ok": "green", "warning": "yellow", "blocking": "red"}


def number(value: float | None, digits: int = 2) -> str:
    """A value with at most `digits` decimals; NaN and infinities by name; a dash for none."""
    if value is None:
        return "-"
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) < 10**-digits or abs(value) >= 1e9:
        return f"{value:.4g}"
    return f"{value:,.{digits}f}"


def duration(seconds: float | None) -> str:
    """`0.4 s`, `12 s`, `3:05`, `2:03:05`."""
    if seconds is None or not math.isfinite(seconds):
        return "-"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def size(count: float) -> str:
    """Bytes with a unit."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def age(then: datetime | None, now: datetime | None = None) -> str:
    """How long ago, roughly; `now` by the clock that `then` was read from, which of a stack's is its own."""
    if then is None:
        return "-"
    seconds = ((now or datetime.now(UTC)) - then).total_seconds()
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.0f} {name} ago"
    return f"{max(seconds, 0):.0f} s ago"


def ahead(then: datetime | None, now: datetime | None = None) -> str:
    """How far away a moment is, very roughly; a dash when nobody knows."""
    if then is None:
        return "-"
    seconds = (then - (now or datetime.now(UTC))).total_seconds()
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= unit:
            return f"in ~{seconds / unit:.0f} {name}"
    return "in < 1 min"


def state_words(run: "AnyRun") -> str:
    """The state of a run; of one that waits in the queue of a cluster, that it does and why."""
    if run.state is RunState.STARTING and run.waiting_reason:
        return run.waiting_reason
    return shown_state(run.state, run.started_at).value


def run_duration(run: "AnyRun") -> str:
    """How long the run has taken, or takes so far, by the stack's monotonic clock."""
    if run.elapsed_s is not None or run.started_at is None or run.ended_at is None:
        return duration(run.elapsed_s)
    # An older record has wall times only; where the clock was set back meanwhile they say nothing.
    seconds = (run.ended_at - run.started_at).total_seconds()
    return duration(seconds if seconds >= 0 else None)


def short_ids(ids: list[str]) -> list[str]:
    """Ids as short as they may be typed: cut where all of them still differ."""
    length = SHORTEST_ID
    while length < 26 and len({run_id[:length] for run_id in ids}) < len(set(ids)):
        length += 1
    return [run_id[:length] for run_id in ids]


def what(run: "AnyRun") -> str:
    """`ppo CartPole-v1 seed 1`; of a run that does not train, what it does: `ppo CartPole-v1 seed 1, evaluation`."""
    kind = _KINDS.get(run.spec.kind)
    words = f"{run.spec.algorithm} {run.spec.environment} seed {run.spec.seed}"
    return one_line(f"{words}, {kind}" if kind else words)


def named(run: "AnyRun") -> str:
    """The same after the run's name, where a person gave it one."""
    return f"{one_line(run.spec.name)}: {what(run)}" if run.spec.name else what(run)


def one_line(text: str) -> str:
    """Text for a line that it shares with others: a line break in a name must not look like a line of ours."""
    return " ".join(text.split())


def path_line(path: str) -> str:
    """A path within one line of output; its spaces stay as they are."""
    return path.replace("\n", "\\n").replace("\r", "\\r")


def steps_text(run: "AnyRun") -> str:
    """`20,480/50,000`."""
    total = run.total_steps
    return f"{run.step:,}/{total:,}" if total else f"{run.step:,}"


def best_text(run: "AnyRun") -> str:
    """The best return, with a mark where the store has a sample of the episodes only."""
    if run.summary is None:
        return "-"
    return number(run.summary.best_return, 1) + (SAMPLE_MARK if run.summary.is_sample else "")


def open_episode_text(*, has_ended: bool) -> str:
    """What became of an episode of which no end is recorded."""
    return "cut off by the run's end" if has_ended else "running"


def plural(count: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
