"""Following a run in the terminal: a bar where there is one, plain lines elsewhere."""

import time
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

from mosaic_cli.wording import duration, number, plural, steps_text, what
from mosaic_client import Client, ConnectionLost, LiveItem
from mosaic_contracts.live import Ended, Events, Missed, RunChanged, Snapshot
from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState, shown_state

FOLLOWED_TYPES = ["episode", "log", "checkpoint"]
PLAIN_EVERY_S = 5.0
RECENT = 20
"""Episodes that the shown return is the mean of, as in the run's summary."""


@dataclass
class RunFollower:
    """What is known of a followed run, from the frames so far."""

    run: RunView
    news: list[str] = field(default_factory=list)
    """Sentences that were not shown yet."""
    _returns: list[float] = field(default_factory=list)
    _best: float | None = None
    _is_lost: bool = False
    _told: set[str] = field(default_factory=set)

    def take(self, item: LiveItem) -> None:
        """Learn from one frame."""
        if isinstance(item, ConnectionLost):
            self._lose(item.reason)
            return
        if self._is_lost:
            self._is_lost = False
            self.news.append("connected again")
        if isinstance(item, Snapshot | RunChanged):
            self._take_run(item.run)
        elif isinstance(item, Events):
            for event in item.events:
                self._take_event(event)
        elif isinstance(item, Missed):
            self.news.append(
                f"{plural(item.count, 'event')} could not be shown here; they are in the store"
            )

    @property
    def mean_return(self) -> float | None:
        """Mean return of the last episodes."""
        if self._returns:
            return sum(self._returns) / len(self._returns)
        return self.run.summary.mean_return if self.run.summary else None

    @property
    def headline(self) -> str:
        """State in a few words, with the reason where it waits."""
        run = self.run
        if run.state is RunState.QUEUED:
            place = f", place {run.position}" if run.position else ""
            return (
                f"queued{place}: {run.waiting_reason}" if run.waiting_reason else f"queued{place}"
            )
        if shown_state(run.state, run.started_at) is RunState.QUEUED:
            return run.waiting_reason or RunState.QUEUED.value
        if run.unresponsive:
            return f"{run.state}, but the trainer does not move"
        if run.state is RunState.STARTING:
            return "starting: loading the worker's libraries"
        if run.state is RunState.RUNNING and not self.is_moving:
            return "running: no step yet"
        return str(run.state)

    @property
    def is_moving(self) -> bool:
        """Whether a step was taken."""
        return self.run.step > 0

    def figures(self) -> list[str]:
        """Steps, return, speed and time left, as far as they are known."""
        words = [f"{steps_text(self.run)} steps"]
        if (mean := self.mean_return) is not None:
            sample = " (of a sample)" if self._is_sample else ""
            words.append(f"return {number(mean, 1)}{sample}")
        if self.run.sps is not None:
            words.append(f"{number(self.run.sps, 0)} steps/s")
        if self.run.eta_s and not self.run.state.is_final:
            words.append(f"{duration(self.run.eta_s)} left")
        return words

    @property
    def _is_sample(self) -> bool:
        summary = self.run.summary
        return summary is not None and summary.is_sample

    def _lose(self, reason: str) -> None:
        if not self._is_lost:  # every further try would say the same
            self._is_lost = True
            self.news.append(
                f"connection lost ({reason}); trying again. The run continues; Ctrl-C does not stop it: "
                "`./mosaic status` shows the stack"
            )

    def _take_run(self, run: RunView) -> None:
        if run.revision < self.run.revision:
            return
        self.run = run
        for alert in run.alerts:
            self._say(f"alert: {alert.rule}: {alert.message}")
        for note in run.notes:
            self._say(note)

    def _say(self, words: str) -> None:
        if words not in self._told:
            self._told.add(words)
            self.news.append(words)

    def _take_event(self, event: dict[str, object]) -> None:
        if event["type"] == "episode":
            value = float(str(event["episode_return"]))
            self._returns = [*self._returns[1 - RECENT :], value]
        elif event["type"] == "log" and event.get("level") in ("warning", "error"):
            self.news.append(f"{event['level']}: {event['message']}")


class Display:
    """Shows a follower; use it as a context."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = _bar(console) if console.is_terminal else None
        self._task = (
            self._bar.add_task("", total=None, words="", is_waiting=True)
            if self._bar is not None
            else None
        )
        self._next_plain_s = 0.0
        self._last_plain = ""
        self._headline = ""

    def __enter__(self) -> Self:
        (self._bar or nullcontext()).__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.__exit__(kind, error, trace)

    def show(self, follower: RunFollower, now_s: float) -> None:
        """Show the state; plain lines come at most every few seconds, and at once when the state changes."""
        for sentence in follower.news:
            self._console.print(sentence, markup=False)
        follower.news.clear()
        if self._bar is not None and self._task is not None:
            self._show_bar(self._bar, follower)
        else:
            self._show_plain(follower, now_s)

    def _show_bar(self, bar: Progress, follower: RunFollower) -> None:
        step, total = follower.run.step, follower.run.total_steps
        moving = follower.is_moving
        assert self._task is not None  # noqa: S101  # made together with the bar
        if follower.headline != self._headline:
            self._headline = follower.headline
            bar.reset(self._task)  # its clock counts the phase
        bar.update(
            self._task,
            description=escape(what(follower.run) if moving else follower.headline),
            completed=step,
            total=total if moving else None,
            words=escape("  ".join(follower.figures())) if moving else escape(what(follower.run)),
            is_waiting=not moving,
        )

    def _show_plain(self, follower: RunFollower, now_s: float) -> None:
        line = f"{follower.headline}: " + ", ".join(follower.figures())
        changed = follower.headline != self._headline
        if line != self._last_plain and (changed or now_s >= self._next_plain_s):
            self._headline, self._last_plain = follower.headline, line
            self._next_plain_s = now_s + PLAIN_EVERY_S
            self._console.print(line, markup=False, soft_wrap=True)


def follow_run(client: Client, run: RunView, console: Console, cursor: str | None = "") -> RunView:
    """Show a run until it has ended; returns it as it is then.

    Raises:
        KeyboardInterrupt: Ctrl-C. The run goes on.
        ClientError: the stack does not answer any more.
    """
    follower = RunFollower(run)
    with Display(console) as display:
        display.show(follower, time.monotonic())
        show_all(client.follow(run.run_id, cursor, FOLLOWED_TYPES), follower, display)
        follower.run = client.run(run.run_id)
        display.show(follower, float("inf"))
    return follower.run


def show_all(items: Iterable[LiveItem], follower: RunFollower, display: Display) -> None:
    """Take and show frames until the run has ended."""
    for item in items:
        follower.take(item)
        if isinstance(item, Ended):
            return
        display.show(follower, time.monotonic())


class _PhaseClock(ProgressColumn):
    """How long the phase has taken, until there are steps to count: a long import must not look like a standstill."""

    def render(self, task: Task) -> Text:
        """The time, or nothing."""
        return Text(duration(task.elapsed) if task.fields["is_waiting"] else "")


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[words]}"),
        _PhaseClock(),
        console=console,
        expand=True,
        refresh_per_second=8,
    )
