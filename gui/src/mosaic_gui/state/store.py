"""The client's data, changed by each message. Replaying messages into `apply` rebuilds it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from mosaic_contracts.live import Ended, Hello, Missed, Pong, ProblemFrame, RunChanged, Snapshot
from mosaic_contracts.play import PLAY_KEYS, PLAY_STATE
from mosaic_contracts.problems import Problem, ProblemCode
from mosaic_contracts.runs import RunView
from mosaic_contracts.spec import RunKind
from mosaic_contracts.storage_words import FILE_RESTORED
from mosaic_contracts.tracking import TrackedRun, TrackedUpload
from mosaic_contracts.tracking_words import TRACKING_RUN, TRACKING_UPLOAD
from mosaic_gui.state.alert_marks import MOST_MARKS, AlertMark, read_mark
from mosaic_gui.state.connection import Lag
from mosaic_gui.state.follow import STEP_TYPES, EventBatch, Follower, newest_step
from mosaic_gui.state.gaps import Gaps
from mosaic_gui.state.language import tr, tr_n

if TYPE_CHECKING:
    from mosaic_contracts.curve_set import DrawnCurve
    from mosaic_gui.state.curves import RunCurves

Frame = Hello | Snapshot | EventBatch | RunChanged | Missed | Ended | Pong | ProblemFrame

MOST_LOG_EVENTS = 2_000
"""`log` and lifecycle events kept of a followed run."""


@dataclass(frozen=True)
class Changes:
    """What changed, so that only views of changed things update."""

    runs: frozenset[str] = frozenset()
    """Runs whose record is new or changed."""
    removed: frozenset[str] = frozenset()
    curves: frozenset[str] = frozenset()
    """Runs whose series grew."""
    events: frozenset[str] = frozenset()
    """Runs with other new events: configuration, artifacts, lifecycle, extras."""
    replays: frozenset[str] = frozenset()
    """Replays whose record is new or changed."""
    steps: frozenset[str] = frozenset()
    """Runs of which a newer step is known, where steps were asked for."""
    ended: frozenset[str] = frozenset()
    problems: tuple[Problem, ...] = ()

    def __bool__(self) -> bool:
        return self != Changes()

    def __or__(self, other: Changes) -> Changes:
        return Changes(
            runs=(self.runs - other.removed) | other.runs,
            removed=(self.removed - other.runs) | other.removed,
            curves=self.curves | other.curves,
            events=self.events | other.events,
            replays=self.replays | other.replays,
            steps=self.steps | other.steps,
            ended=self.ended | other.ended,
            problems=self.problems + other.problems,
        )


NOTHING = Changes()


@dataclass
class Followed:
    """The events kept of a followed run."""

    follower: Follower
    curves: RunCurves = field(default_factory=lambda: _no_curves())
    config: dict[str, Any] = field(default_factory=dict)
    """Data of its `config` event."""
    log_events: list[dict[str, Any]] = field(default_factory=list)
    """Lifecycle and log events, the newest last."""
    extras: frozenset[str] = frozenset()
    """Types of the namespaced events that it has: panels for them appear with the first."""
    tracked: TrackedRun | None = None
    """The run at its tracker, as it reported last."""
    upload: TrackedUpload | None = None
    """What has become of its upload, as it reported last."""
    play_state: dict[str, Any] | None = None
    """The newest event that says what a play waits for."""
    play_keys: dict[str, Any] | None = None
    """The newest event that says which key map counts in a play."""
    alerts: dict[int, AlertMark] = field(default_factory=dict)
    """Alerts that were raised, by their numbers, the newest last."""
    artifacts: int = 0
    """Announcements of files, also of those that went again; grows when there is a reason to ask for the list."""
    newest_step: dict[str, Any] | None = None
    """The newest step or episode's start of the first environment, where steps were asked for."""
    joint: str | None = None
    """Cursor of the run's newest event when the subscription began; None until the snapshot came."""
    ended: bool = False
    gaps: Gaps = field(default_factory=Gaps)
    """Skipped events that may still come."""
    lag: Lag = field(default_factory=Lag)

    @property
    def caught_up(self) -> bool:
        """History has been read; from here on it is live."""
        return self.joint is not None and not self.follower.is_behind(self.joint)

    def take(self, batch: EventBatch) -> tuple[bool, bool]:
        """Take events; return whether series grew and whether there were other events."""
        grown = self.curves.take(batch)
        other = False
        for event in batch.events:
            kind = event["type"]
            if kind in ("episode", "metric", *STEP_TYPES):
                continue
            other = True
            if kind == "config":
                self.config = event["data"]
            elif kind in ("lifecycle", "log"):
                self.log_events.append(event)
            elif kind in ("checkpoint", "artifact", "artifact_pruned", FILE_RESTORED):
                self.artifacts += 1
            elif "." in kind:
                self.extras |= {kind}
                if kind in (TRACKING_RUN, TRACKING_UPLOAD):
                    self._take_tracked(kind, event["data"])
                elif (raised := read_mark(event)) is not None:
                    self.alerts[raised.alert] = raised
                elif kind == PLAY_STATE:
                    self.play_state = _newer(self.play_state, event)
                elif kind == PLAY_KEYS:
                    self.play_keys = _newer(self.play_keys, event)
        del self.log_events[:-MOST_LOG_EVENTS]
        for oldest in sorted(self.alerts)[:-MOST_MARKS]:
            del self.alerts[oldest]
        return grown, other

    def take_steps(self, batch: EventBatch) -> bool:
        """Keep the newest step of a batch; False when it has none."""
        newest = newest_step(batch)
        if newest is not None:
            self.newest_step = newest
        return newest is not None

    def _take_tracked(self, kind: str, data: dict[str, Any]) -> None:
        # a worker's own extra may be anything: one that is no TrackedRun names no page
        with suppress(ValidationError):
            if kind == TRACKING_UPLOAD:
                self.upload = TrackedUpload.model_validate(data)
            else:
                # what was reported of an upload before was another one
                self.tracked, self.upload = TrackedRun.model_validate(data), None


class Store:
    """Runs by id, and what is kept of those that are followed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.runs: dict[str, RunView] = {}
        self.replays: dict[str, RunView] = {}
        """Runs that rebuild an episode of another one. They are in no list of runs."""
        self.followed: dict[str, Followed] = {}

    def replace_runs(self, runs: Iterable[RunView]) -> Changes:
        """Replace the list of runs with the gateway's list."""
        fresh = {run.run_id: run for run in runs}
        gone = frozenset(self.runs) - frozenset(fresh)
        for run_id in gone:
            del self.runs[run_id]
        return Changes(removed=gone) | self.take_runs(fresh.values())

    def take_runs(self, runs: Iterable[RunView]) -> Changes:
        """Take records from an answer; an older revision than the known one is skipped."""
        changed: set[str] = set()
        removed: set[str] = set()
        for run in runs:
            # one record after the other: sets that are joined thousands of times would be copied as often
            changes = self._take_run(run)
            changed |= changes.runs
            removed |= changes.removed
        return Changes(runs=frozenset(changed - removed), removed=frozenset(removed))

    def forget_runs(self, run_ids: Iterable[str]) -> Changes:
        """Remove deleted runs."""
        gone = frozenset(run_ids) & frozenset(self.runs)
        for run_id in gone:
            del self.runs[run_id]
        return Changes(removed=gone)

    def follow(self, run_id: str) -> Follower:
        """Begin to keep the events of a run; the follower says from where to ask."""
        followed = self.followed.get(run_id)
        if followed is None:
            followed = self.followed[run_id] = Followed(Follower(run_id))
        return followed.follower

    def begin_curves(self, run_id: str, curves: Iterable[DrawnCurve], cursor: str) -> Changes:
        """Series of a followed run as the store has them up to a cursor. Raises ValueError: see `RunCurves.begin`."""
        followed = self.followed.get(run_id)
        if followed is None:
            return NOTHING
        for curve in curves:
            followed.curves.begin(curve, cursor)
        return Changes(curves=frozenset({run_id}))

    def go_on_from(self, run_id: str, cursor: str | None) -> Follower:
        """Continue from a cursor whose events were read in another way, or from now (None); return the follower."""
        followed = self.followed[run_id]
        followed.follower = Follower(run_id, cursor)
        return followed.follower

    def begin_again(self, run_id: str) -> Follower:
        """Forget the events of a run and begin at its first one."""
        followed = self.followed[run_id]
        followed.curves.clear()
        followed.follower = Follower(run_id)
        return followed.follower

    def take_tracking(
        self, run_id: str, tracked: TrackedRun, upload: TrackedUpload | None
    ) -> Changes:
        """Take what is recorded of a run at its tracker: a run that has ended is followed no longer."""
        followed = self.followed.get(run_id)
        if followed is None or (followed.tracked, followed.upload) == (tracked, upload):
            return NOTHING
        followed.tracked, followed.upload = tracked, upload
        return Changes(events=frozenset({run_id}))

    def take_past(self, run_id: str, events: list[dict[str, Any]]) -> Changes:
        """Take older events that are not part of curves."""
        followed = self.followed.get(run_id)
        if followed is None or not events:
            return NOTHING
        live = followed.config
        # a run that is opened again has reported them before
        known = {_place(event) for event in followed.log_events}
        new = [event for event in events if _place(event) not in known]
        followed.take(EventBatch(run_id, new, {}, ""))
        followed.config = live or followed.config
        followed.log_events.sort(key=lambda event: float(event["t"]))
        return Changes(events=frozenset({run_id}))

    def unfollow(self, run_id: str) -> None:
        """Forget the events of a run; its record stays."""
        self.followed.pop(run_id, None)

    @property
    def behind_s(self) -> float:
        """How far the data of the followed runs is behind the stack, in seconds; of several runs the furthest."""
        now = self._clock()
        return max(
            (one.lag.behind_s(one.follower.seen, now) for one in self.followed.values()),
            default=0.0,
        )

    def apply(self, frame: Frame) -> Changes:
        """Take one message of the live connection."""
        match frame:
            case RunChanged():
                self._note_reached(frame.run)
                return self._take_run(frame.run)
            case EventBatch():
                return self._take_events(frame)
            case Snapshot():
                if (followed := self.followed.get(frame.run.run_id)) is not None:
                    followed.follower.joined(frame.cursor)
                    followed.joint = frame.cursor
                # it came in the order of events, and a newer state may have passed it
                is_known = frame.run.run_id in self.runs
                return (
                    NOTHING
                    if is_known and not self._is_newer(frame.run)
                    else self._take_run(frame.run)
                )
            case Missed():
                if (followed := self.followed.get(frame.run_id)) is not None:
                    followed.follower.skip(frame.to_cursor)
                reported = Problem(
                    code=ProblemCode.STORE_UNAVAILABLE,
                    title=tr_n(
                        "{n} event could not be sent in time",
                        "{n} events could not be sent in time",
                        frame.count,
                    ),
                    status=503,
                    detail=tr(
                        "The curves have a gap there until the store has them; it closes by itself."
                    ),
                )
                return Changes(events=frozenset({frame.run_id}), problems=(reported,))
            case Ended():
                if (followed := self.followed.get(frame.run_id)) is not None:
                    followed.ended = True
                    followed.lag.clear()
                return Changes(ended=frozenset({frame.run_id}))
            case ProblemFrame():
                return Changes(problems=(frame.problem,))
            case _:
                return NOTHING

    def _take_run(self, run: RunView) -> Changes:
        if run.spec.kind in (RunKind.DASHBOARD, RunKind.SYNC):
            return NOTHING
        if run.spec.kind is RunKind.REPLAY:
            return self.take_replay(run)
        known = self.runs.get(run.run_id)
        if run.deleted_at is not None:
            return self.forget_runs([run.run_id])
        if known is run or (known is not None and known.revision > run.revision):
            return NOTHING
        self.runs[run.run_id] = run
        return Changes(runs=frozenset({run.run_id}))

    def take_replay(self, run: RunView) -> Changes:
        """Take the record of a replay; an older revision than the known one is skipped."""
        known = self.replays.get(run.run_id)
        if known is not None and known.revision > run.revision:
            return NOTHING
        if run.deleted_at is not None:
            self.replays.pop(run.run_id, None)
        else:
            self.replays[run.run_id] = run
        return Changes(replays=frozenset({run.run_id}))

    def _is_newer(self, run: RunView) -> bool:
        known = self.runs.get(run.run_id)
        return known is None or run.revision > known.revision

    def _note_reached(self, run: RunView) -> None:
        """Report to `Lag` how far the stack is with a live run."""
        followed = self.followed.get(run.run_id)
        if followed is None or followed.joint is None or followed.ended or run.summary is None:
            return
        marks = run.summary.sources
        followed.lag.report({(m.attempt, m.source): m.last_seq for m in marks}, self._clock())

    def _take_events(self, batch: EventBatch) -> Changes:
        followed = self.followed.get(batch.run_id)
        if followed is None:
            return NOTHING  # the last of a run that was just let go
        new = followed.follower.take(batch)
        if new is None:
            return NOTHING
        grown, other = followed.take(new)
        ids = frozenset({batch.run_id})
        none = frozenset[str]()
        return Changes(
            curves=ids if grown else none,
            events=ids if other else none,
            steps=ids if followed.take_steps(new) else none,
        )


def _no_curves() -> RunCurves:
    """Imported with the first run that is followed: a window opens without numpy."""
    from mosaic_gui.state.curves import RunCurves

    return RunCurves()


def _newer(known: dict[str, Any] | None, event: dict[str, Any]) -> dict[str, Any]:
    """The later one of two events of a run."""
    return event if known is None or _place(event) > _place(known) else known


def _place(event: dict[str, Any]) -> tuple[Any, ...]:
    return event["attempt"], event["source"], event["seq"]
