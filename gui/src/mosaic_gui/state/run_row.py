"""Texts and sort values of a run in the list."""

import math
from datetime import UTC, datetime
from typing import Any

from mosaic_contracts.linux_signals import signal_name
from mosaic_contracts.run_names import given_name
from mosaic_contracts.runs import RunEnd, RunView, StoredSpec
from mosaic_contracts.spec import RunKind
from mosaic_contracts.states import EndCause, RunState, shown_state
from mosaic_gui.state import wording
from mosaic_gui.state.language import mark, tr, tr_mark, tr_n

STATE_WORDS = {
    RunState.QUEUED: mark("Queued"),
    RunState.STARTING: mark("Starting"),
    RunState.RUNNING: mark("Running"),
    RunState.STOPPING: mark("Stopping"),
    RunState.SUCCEEDED: mark("Succeeded"),
    RunState.FAILED: mark("Failed"),
    RunState.CRASHED: mark("Crashed"),
    RunState.CANCELLED: mark("Cancelled"),
    RunState.TIMED_OUT: mark("Timed out"),
    RunState.INTERRUPTED: mark("Interrupted"),
}
STATE_TONES = {
    RunState.QUEUED: "neutral",
    RunState.STARTING: "accent",
    RunState.RUNNING: "accent",
    RunState.STOPPING: "warn",
    RunState.SUCCEEDED: "ok",
    RunState.FAILED: "bad",
    RunState.CRASHED: "bad",
    RunState.CANCELLED: "neutral",
    RunState.TIMED_OUT: "warn",
    RunState.INTERRUPTED: "warn",
}
"""Colour of a badge, as a token's name."""
_KINDS = {
    RunKind.EVALUATE: mark("evaluation"),
    RunKind.PLAY: mark("play"),
    RunKind.IMPORT: mark("imported checkpoint"),
    RunKind.SWEEP: mark("sweep"),
}
"""What a run in the list does that does not train."""
_TRAINING = mark("training")


def badge(run: RunView) -> tuple[str, str]:
    """Word and tone of the run's badge."""
    if run.unresponsive and not run.state.is_final:
        return tr("No answer"), "warn"
    if run.alerts and run.state.has_process:
        return tr("Alert"), "warn"
    is_at_engine = waits_at_engine(run)
    if run.held and (is_at_engine or run.state is RunState.QUEUED):
        return tr("Held"), "neutral"
    if is_at_engine:
        return tr_mark(STATE_WORDS[RunState.QUEUED]), STATE_TONES[RunState.QUEUED]
    return tr_mark(STATE_WORDS[run.state]), STATE_TONES[run.state]


def waits_at_engine(run: RunView) -> bool:
    """Whether a run waits in the queue of a cluster."""
    return run.state is not shown_state(run.state, run.started_at)


def title(run: RunView) -> str:
    """Title of a run that stands alone: its name if one was given, else its environment."""
    return given_name(run) or run.spec.environment


def subtitle(run: RunView) -> str:
    """Words that distinguish a run from others of the same title."""
    if run.spec.sweep is not None:
        trained = str(run.spec.sweep.run.get("algorithm", ""))
        return " · ".join(part for part in (tr("sweep"), run.spec.environment, trained) if part)
    parts = [run.spec.environment] if given_name(run) else []
    kind = [tr_mark(_KINDS[run.spec.kind])] if run.spec.kind in _KINDS else []
    return " · ".join([*kind, *parts, run.spec.algorithm, tr("seed {seed}", seed=run.spec.seed)])


def list_subtitle(run: RunView, name: str) -> str:
    """Words below a run's name in a list: what the name does not say, and the note."""
    if run.spec.sweep is not None:
        about = subtitle(run)
    else:
        kind = [tr_mark(_KINDS[run.spec.kind])] if run.spec.kind in _KINDS else []
        known = name.split()
        more = (run.spec.environment, run.spec.algorithm if given_name(run) else "")
        parts = [*kind, *(part for part in more if part and part not in known)]
        about = " · ".join(parts) or run.spec.worker
    first = run.note.strip().split("\n", 1)[0]
    return f"{about}  —  {first}" if first else about


def kind_word(run: RunView) -> str:
    """What the run does."""
    return tr_mark(_KINDS.get(run.spec.kind, _TRAINING))


def subtitle_with_note(run: RunView) -> str:
    """The subtitle, and the beginning of the user's own words on it."""
    first = run.note.strip().split("\n", 1)[0]
    return f"{subtitle(run)}  —  {first}" if first else subtitle(run)


def elapsed_s(run: RunView, now: datetime) -> float | None:
    """Seconds since its start, or how long it took; None before it starts.

    The stack says it by a clock that nobody sets. While a run starts it says little, and of older runs nothing.
    """
    if run.started_at is None:
        return None
    if run.elapsed_s is not None and run.state is not RunState.STARTING:
        return run.elapsed_s
    return max(0.0, ((run.ended_at or now) - run.started_at).total_seconds())


def fraction(run: RunView) -> float | None:
    """Progress from 0 to 1; None where steps done or steps requested are not known."""
    if run.total_steps and (run.progress is not None or run.step):
        return min(1.0, run.step / run.total_steps)
    return 1.0 if run.state is RunState.SUCCEEDED and not run.total_steps else None


def steps_text(run: RunView) -> str:
    """`12.5k of 500k`."""
    if run.progress is None and not run.step:
        return wording.NOTHING
    done = wording.short_count(run.step)
    if run.spec.kind is RunKind.SWEEP and run.total_steps:
        return tr_n(
            "{done} of {n} trial",
            "{done} of {n} trials",
            run.total_steps,
            done=wording.count(run.step),
        )
    if not run.total_steps:
        return done
    return tr("{done} of {total}", done=done, total=wording.short_count(run.total_steps))


def outlook(run: RunView) -> tuple[str, str]:
    """Place in the queue, time remaining, or the failure, with a reason."""
    if run.state is RunState.QUEUED:
        n = run.position
        place = tr("#{n} in the queue", n=n) if n else tr("in the queue")
        return place, run.waiting_reason or ""
    if waits_at_engine(run):
        # The state already says that it is queued; the column is narrow, and the cause is what matters.
        return tr("in the queue"), (run.waiting_reason or "").partition(": ")[2]
    if run.state.has_process and run.eta_s is not None:
        return tr("{time} left", time=wording.duration(run.eta_s)), ""
    if run.state.is_final and run.end is not None and run.state is not RunState.SUCCEEDED:
        return _failure(run.end)
    return "", ""


def _failure(end: RunEnd) -> tuple[str, str]:
    """How a run ended, with its error or last line: an exit code alone explains nothing."""
    if end.cause is EndCause.EXIT_CODE and end.exit_code is not None:
        # the text of an error may be longer than the last lines: its runner has found where it begins
        error = end.message.partition(": ")[2].split("\n", 1)[0]
        last = next((line.strip() for line in reversed(end.last_lines) if line.strip()), "")
        if error or last:
            return tr("exit code {code}", code=end.exit_code), error or last
    if end.cause is EndCause.SIGNAL and end.signal is not None:
        return tr("killed by {signal}", signal=signal_name(end.signal)), ""
    return end.message.split("\n", 1)[0], ""


def remaining_text(run: RunView) -> str:
    """The outlook in one line."""
    return ", ".join(part for part in outlook(run) if part)


def last_return(run: RunView) -> float | None:
    return run.summary.last_return if run.summary else None


def best_return(run: RunView) -> float | None:
    return run.summary.best_return if run.summary else None


def mean_return(run: RunView) -> float | None:
    return run.summary.mean_return if run.summary else None


def episodes_played(run: RunView) -> int | None:
    return run.summary.episodes_played or run.summary.episodes if run.summary else None


def command_spec(spec: StoredSpec) -> dict[str, Any]:
    """The fields of a spec that a command names: what is not so by default, and nothing of that one run alone."""
    fields = spec.model_dump(mode="json", exclude_defaults=True, exclude={"parent", "consent"})
    return {**fields, "seed": spec.seed}


def is_missing(value: object) -> bool:
    """Whether a value is None or NaN, which sort last in both directions."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def now() -> datetime:
    """The present time with its time zone."""
    return datetime.now(UTC)
