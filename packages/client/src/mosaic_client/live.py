"""Following a run: which frame means what, and where to go on after a loss. No I/O here; the two clients drive it.

States of the run are not part of that order. A reader that is slower than the events opens a second connection
for states alone, so that a state is yielded when it is known, before the events that wait.

The cursor decides: an event at or below it is a double and is left out; after a lost connection the subscription
starts at it; what the gateway `missed` to send is read from the store up to it.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter, ValidationError

from mosaic_client.errors import AnswerInvalid, WaitTimedOut, problem_error
from mosaic_contracts.cursor import Cursor, format_cursor, parse_cursor
from mosaic_contracts.live import (
    DEFAULT_TYPES,
    Ended,
    Events,
    Hello,
    Missed,
    Pong,
    ProblemFrame,
    RunChanged,
    ServerFrame,
    Snapshot,
    Subscribe,
)
from mosaic_contracts.problems import Problem, ProblemCode
from mosaic_contracts.runs import EventPage, RunView

FILL_PAGE = 1000
FILL_PATIENCE_S = 30.0
"""Time to wait until events that were missed live are in the store. After it they are reported as missed."""

WAITED_TYPES = ["lifecycle"]
"""Event types to follow when only the end matters: the fewest events."""
BEHIND_S = 0.5
"""Seconds of uninterrupted frames after which a second connection reads the states."""

_frames: TypeAdapter[ServerFrame] = TypeAdapter(ServerFrame)
_KNOWN_OPS = frozenset(
    model.model_fields["op"].default
    for model in (Hello, Snapshot, Events, RunChanged, Missed, Ended, Pong, ProblemFrame)
)
_PASSING = frozenset(
    {
        ProblemCode.BROKER_UNAVAILABLE,
        ProblemCode.SERVICE_UNAVAILABLE,
        ProblemCode.STORE_UNAVAILABLE,
    }
)


@dataclass(frozen=True)
class ConnectionLost:
    """The live connection broke. The next attempt is in `retry_in_s` seconds."""

    reason: str
    retry_in_s: float


LiveItem = Snapshot | Events | RunChanged | Missed | Ended | ConnectionLost
"""An item that following a run yields. `Missed` only if the store did not have the events in time."""


class ServiceAway(Exception):
    """The gateway cannot serve the subscription now. This passes by itself."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail or problem.title)
        self.problem = problem


@dataclass
class FollowState:
    """The state of following one run over any number of connections."""

    run_id: str
    cursor: str | None
    """Position to begin at: `""` the start, None from now."""
    types: list[str] | None
    ended: bool = field(default=False, init=False)
    _seen: Cursor = field(default_factory=dict, init=False)
    _state: tuple[int, float] = field(default=(0, 0.0), init=False)
    """Revision and age of the newest state that was yielded."""

    def __post_init__(self) -> None:
        self._seen = parse_cursor(self.cursor or "")

    def subscription(self) -> str:
        """Message to send on a new connection."""
        frame = Subscribe(run_id=self.run_id, cursor=self.cursor, types=self.types)
        return frame.model_dump_json()

    def states_subscription(self) -> str:
        """Message to send on a connection for states alone."""
        frame = Subscribe(run_id=self.run_id, cursor=None, types=WAITED_TYPES)
        return frame.model_dump_json()

    @property
    def store_types(self) -> list[str] | None:
        """The same event types for pages of the store; None: all."""
        if self.types is None:
            return list(DEFAULT_TYPES)
        return None if "*" in self.types else self.types

    def take(self, raw: str | bytes) -> LiveItem | None:
        """Read one frame; None if it has nothing for the reader.

        Raises:
            MosaicProblem: the subscription is refused.
            ServiceAway: it cannot be served now.
            AnswerInvalid: not a frame.
        """
        frame = _read_frame(raw)
        if isinstance(frame, ProblemFrame):
            if frame.problem.code in _PASSING:
                raise ServiceAway(frame.problem)
            raise problem_error(frame.problem)
        if frame is None or isinstance(frame, Hello | Pong):
            return None
        if isinstance(frame, Snapshot) and self.cursor is None:
            self._advance(frame.cursor)  # "from now" begins at the joint
        if isinstance(frame, Events):
            return self._new_events(frame.events, frame.cursor)
        if isinstance(frame, Missed) and not self.is_behind(frame.to_cursor):
            return None
        if isinstance(frame, Ended):
            self.ended = True
        if isinstance(frame, Snapshot):
            self._is_new_state(frame.run)
        if isinstance(frame, RunChanged) and not self._is_new_state(frame.run):
            return None
        return frame

    def take_state(self, raw: str | bytes) -> RunChanged | None:
        """Read one frame of the connection for states; None if it has no newer state. Raises AnswerInvalid."""
        frame = _read_frame(raw)
        is_newer = isinstance(frame, RunChanged) and self._is_new_state(frame.run)
        return frame if isinstance(frame, RunChanged) and is_newer else None

    def take_page(self, page: EventPage) -> Events | None:
        """Read a page of the store to fill in missed events."""
        return self._new_events(page.events, page.cursor)

    def is_behind(self, cursor: str) -> bool:
        """Whether events up to `cursor` are still missing."""
        return any(seq > self._seen.get(key, 0) for key, seq in parse_cursor(cursor).items())

    def _new_events(self, events: list[dict[str, Any]], cursor: str) -> Events | None:
        seen = self._seen
        new = [e for e in events if e["seq"] > seen.get((e["attempt"], e["source"]), 0)]
        self._advance(cursor)
        if not new:
            return None
        return Events(run_id=self.run_id, events=new, cursor=format_cursor(self._seen))

    def _is_new_state(self, run: RunView) -> bool:
        """Whether it is no older than the newest one; a state may come twice, and the second time late."""
        state = (run.revision, run.elapsed_s or 0.0)
        is_new = state >= self._state
        self._state = max(state, self._state)
        return is_new

    def _advance(self, cursor: str) -> None:
        for key, seq in parse_cursor(cursor).items():
            self._seen[key] = max(seq, self._seen.get(key, 0))
        self.cursor = format_cursor(self._seen)


def timed_out(run_id: str) -> WaitTimedOut:
    """Return the error for a run that did not end in time."""
    return WaitTimedOut(f"Run {run_id} has not ended yet and continues. Wait again, or `stop` it.")


def _read_frame(raw: str | bytes) -> ServerFrame | None:
    try:
        plain = json.loads(raw)
        if plain.get("op") not in _KNOWN_OPS:
            return None  # a newer gateway's
        return _frames.validate_python(plain)
    except (ValueError, AttributeError, ValidationError) as error:
        raise AnswerInvalid(
            f"The live connection sent a frame that this version cannot read: {error}"
        ) from error
