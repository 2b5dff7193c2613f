"""Summary of a run that did not succeed: cause, facts, last lines, and advice."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mosaic_contracts.linux_signals import NUMBERS, signal_name
from mosaic_contracts.runs import RunEnd, RunView
from mosaic_contracts.spec import RunKind
from mosaic_contracts.states import EndCause, RunState, StopStep
from mosaic_gui.state.failure_fixes import (
    NO_CUDA,
    NO_FILE,
    NO_MEMORY,
    NO_NUMBER,
    Fix,
    faulty_parameter,
    fixes,
)
from mosaic_gui.state.language import Mark, grouped, mark, tr, tr_mark
from mosaic_gui.state.run_row import STATE_WORDS

MOST_MESSAGE = 320
"""Largest number of characters of a cause."""
_TITLES = {
    EndCause.STOPPED_BY_USER: mark("Stopped on request"),
    EndCause.WALL_TIME: mark("Time limit reached"),
    EndCause.START_DEADLINE: mark("Start deadline exceeded"),
    EndCause.EXIT_CODE: mark("The script ended with an error"),
    EndCause.NO_EVENTS: mark("Ended without recording anything"),
    EndCause.SIGNAL: mark("The process was killed"),
    EndCause.OUT_OF_MEMORY: mark("Out of memory"),
    EndCause.RUNNER_LOST: mark("Its processes are gone"),
    EndCause.PLACEMENT_FAILED: mark("It could not be started"),
    EndCause.WORKER_NOT_READY: mark("The worker is not ready"),
    EndCause.COMPLETED: mark("Completed"),
    EndCause.INTERRUPTED: mark("Interrupted by a shutdown"),
    EndCause.DISK_LOW: mark("Stopped before the disk was full"),
}


_NEUTRAL = (RunState.CANCELLED, RunState.INTERRUPTED)


@dataclass(frozen=True)
class FailureSummary:
    """Content of the card of a failed run."""

    title: str
    message: str
    facts: list[tuple[str, str]]
    last_lines: list[str]
    advice: list[str]
    fixes: list[Fix] = field(default_factory=list)
    tone: str = "bad"


@dataclass(frozen=True)
class _Pattern:
    """A known failure, recognised by a pattern in the last lines."""

    expression: re.Pattern[str]
    advice: Mark


_PATTERNS = (
    _Pattern(
        NO_CUDA,
        mark(
            "The script asked for CUDA, which is not available here. To train on the CPU, "
            "request 0 GPUs and switch its CUDA argument off."
        ),
    ),
    _Pattern(
        re.compile(r"CUDA out of memory|OutOfMemoryError", re.I),
        mark("The GPU's memory was not enough: take a smaller batch or fewer environments."),
    ),
    _Pattern(
        re.compile(r"No module named ['\"]?([\w.]+)", re.I),
        mark(
            "A package is missing in the worker's environment. Its bundles are added with `./mosaic sync`; `./mosaic "
            "describe` lists what each environment needs."
        ),
    ),
    _Pattern(
        re.compile(r"No such file or directory|can't open file", re.I),
        mark("A file that it needs is not there: see the last lines for which one."),
    ),
    _Pattern(
        NO_NUMBER,
        mark(
            "Values became NaN: a lower learning rate or gradient clipping usually helps. The curves show where it "
            "began."
        ),
    ),
    _Pattern(
        re.compile(r"No space left on device", re.I),
        mark("The disk is full: delete old runs, then start it again."),
    ),
    _Pattern(
        NO_MEMORY,
        mark(
            "The machine's memory was not enough: fewer environments, a smaller replay buffer, or fewer runs at once."
        ),
    ),
)


_STOP_STEPS = {
    StopStep.ASKED: mark("stop request: it saved, and ended by itself"),
    StopStep.TERMINATED: mark("SIGTERM, before it could take a stop request"),
    StopStep.KILLED: mark("SIGKILL, after its grace time"),
}


_NATIVE = mark(
    "It crashed in compiled code, which prints no traceback. Often a package does not "
    "match another one or the driver. Run it again; if it crashes again, the last lines "
    "say how far it got."
)
_OTHER_SIGNAL = mark(
    "Something outside MOSAIC ended it. Everything up to its last step is kept; run it again."
)
_SIGNAL_ADVICE: dict[int, Mark] = {
    NUMBERS["SIGKILL"]: mark(
        "Something outside MOSAIC killed it: `kill -9`, or the system when memory ran out "
        "(`journalctl -k` says so). Everything up to its last step is kept. Run it again; "
        "if memory ran out, with fewer environments or a smaller buffer."
    ),
    NUMBERS["SIGSEGV"]: _NATIVE,
    NUMBERS["SIGABRT"]: _NATIVE,
    NUMBERS["SIGILL"]: _NATIVE,
    NUMBERS["SIGBUS"]: _NATIVE,
    NUMBERS["SIGFPE"]: _NATIVE,
}


def failure_summary(
    run: RunView, arguments: Mapping[str, Any] | None = None
) -> FailureSummary | None:
    """The card of a run; None while it goes on, when it succeeded, or for a play that was stopped: it ends so.

    Args:
        arguments: all parameters as the run had them; None: those that its spec names are all that is known.
    """
    if not run.state.is_final or run.state is RunState.SUCCEEDED or run.end is None:
        return None
    end = run.end
    if run.spec.kind is RunKind.PLAY and end.cause is EndCause.STOPPED_BY_USER:
        return None
    facts = [(tr("State"), tr_mark(STATE_WORDS[run.state]))]
    if end.exit_code is not None:
        facts.append((tr("Exit code"), str(end.exit_code)))
    if end.signal is not None:
        facts.append((tr("Signal"), f"{signal_name(end.signal)} ({end.signal})"))
    if end.stop_step is not None:
        facts.append((tr("Stopped by"), tr_mark(_STOP_STEPS[end.stop_step])))
    if run.progress is not None:
        facts.append((tr("Last step"), grouped(run.step)))
    title = _TITLES.get(end.cause)
    return FailureSummary(
        title=tr_mark(title) if title else end.cause.value.replace("_", " "),
        message=_short(end.message),
        facts=facts,
        last_lines=end.last_lines,
        advice=_advice(end, arguments or run.spec.parameters),
        fixes=fixes(run, end, arguments or run.spec.parameters),
        tone="neutral" if run.state in _NEUTRAL else "bad",
    )


def _advice(end: RunEnd, arguments: Mapping[str, Any]) -> list[str]:
    text = "\n".join([end.message, *end.last_lines])
    if (missing := NO_FILE.search(text)) is not None:
        return [
            tr(
                "The script {name} is not there: put it back, or name another one, then run it again.",
                name=missing[1],
            )
        ]
    found = [tr_mark(p.advice) for p in _PATTERNS if p.expression.search(text)]
    if not found and (name := faulty_parameter(end, arguments)):
        found.append(
            tr("The script refused the value of {name}. Choose another one in the form.", name=name)
        )
    match end.cause:
        case EndCause.STOPPED_BY_USER:
            return [
                tr(
                    "Everything up to its last step is kept. Run it again to train from the beginning."
                )
            ]
        case EndCause.INTERRUPTED:
            found.append(
                tr(
                    "Everything up to its last step is kept. Resume goes on from its newest checkpoint, where its "
                    "algorithm takes one."
                )
            )
        case EndCause.DISK_LOW:
            found.append(
                tr(
                    "Free some space first. Resume goes on from its newest checkpoint, where its algorithm takes one."
                )
            )
        case EndCause.WALL_TIME:
            found.append(tr("Give it more time, or fewer steps."))
        case EndCause.START_DEADLINE:
            found.append(
                tr(
                    "Its log says what it waited for; a longer start deadline helps where imports are slow."
                )
            )
        case EndCause.NO_EVENTS:
            found.append(tr("The log says what the script did instead."))
        case EndCause.RUNNER_LOST:
            found.append(
                tr(
                    "The machine was restarted or the processes were killed from outside. Run it again."
                )
            )
        case EndCause.SIGNAL:
            found.append(tr_mark(_SIGNAL_ADVICE.get(end.signal or 0, _OTHER_SIGNAL)))
        case EndCause.OUT_OF_MEMORY:
            found.append(
                tr(
                    "Use fewer environments or a smaller replay buffer, more memory, or fewer runs at once."
                )
            )
        case EndCause.WORKER_NOT_READY:
            found.append(tr("`./mosaic doctor` says what the worker lacks."))
        case _:
            pass
    return found or [
        tr("The last lines and the log say more. Correct what they name, then run it again.")
    ]


def _short(message: str) -> str:
    """A library's message may hold a whole tensor; the log has all of it."""
    return message if len(message) <= MOST_MESSAGE else message[:MOST_MESSAGE].rstrip() + " …"
