"""What the shippers say of their trainers. Ages are measured here, on this process's monotonic clock."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from mosaic_contracts.runs import Progress
from mosaic_contracts.services import Heartbeat

UNRESPONSIVE_AFTER_S = 15.0
"""Seven heartbeats, fifteen of a run that is watched; less would call a machine that swaps unresponsive."""
SUSPENDED = ("T", "t")
"""States of /proc/<pid>/stat: stopped by a signal, or by a debugger."""


@dataclass
class Sighting:
    """The newest word of one attempt."""

    attempt: int
    heard_at: float
    beat: Heartbeat | None = None
    moved_at: float = 0.0
    """When the trainer's step last changed."""
    is_muted: bool = False
    """The broker refuses the shipper: silence says nothing of the trainer."""


class HeartbeatTracker:
    """Newest heartbeat of every run that lives."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._sightings: dict[str, Sighting] = {}
        self._connected_at = now()
        self._is_connected = False
        self._with_events: set[tuple[str, int]] = set()

    def on_connection(self, is_connected: bool) -> None:
        """While there is no broker, silence says nothing about a worker."""
        self._is_connected = is_connected
        self._connected_at = self._now()

    def on_heartbeat(self, beat: Heartbeat) -> bool:
        """Take a heartbeat. Return whether the state of the run may change because of it."""
        now = self._now()
        known = self._sightings.get(beat.run_id)
        if known is not None and known.attempt != beat.attempt:
            known = None
        is_news = known is None or self._is_silent(known)
        moved = (
            known is None or known.beat is None or known.beat.progress.step != beat.progress.step
        )
        moved_at = now if moved or known is None else known.moved_at
        # The word about a worker that is suspended is no sign of its life.
        is_alive = beat.worker_state not in SUSPENDED or known is None
        heard_at = now if is_alive or known is None else known.heard_at
        self._sightings[beat.run_id] = Sighting(beat.attempt, heard_at, beat, moved_at)
        if beat.last_seq > 0:
            is_news |= self.note_events(beat.run_id, beat.attempt)
        return is_news

    def expect(self, run_id: str, attempt: int) -> None:
        """This attempt runs: from now on its silence counts, also when it never speaks."""
        known = self._sightings.get(run_id)
        if known is None or known.attempt != attempt:
            self._sightings[run_id] = Sighting(attempt, self._now(), None, self._now())

    def mute(self, run_id: str, muted: bool) -> None:
        """Whether the run cannot speak; when it can again, its silence counts from then on."""
        known = self._sightings.get(run_id)
        if known is not None and known.is_muted != muted:
            known.is_muted = muted
            known.heard_at = self._now()

    def note_events(self, run_id: str, attempt: int) -> bool:
        """This attempt's worker has recorded something. Return whether that is new."""
        key = (run_id, attempt)
        if key in self._with_events:
            return False
        self._with_events.add(key)
        return True

    def has_events(self, run_id: str, attempt: int) -> bool:
        """Whether this attempt's worker is known to have recorded something."""
        return (run_id, attempt) in self._with_events

    def silence_s(self, run_id: str, attempt: int) -> float | None:
        """Seconds without a word; None when that says nothing (no broker, refused there, or nothing expected)."""
        known = self._sightings.get(run_id)
        if known is None or known.attempt != attempt or not self._is_connected:
            return None
        if known.is_muted:
            return None
        return self._now() - max(known.heard_at, self._connected_at)

    def progress(self, run_id: str, attempt: int) -> Progress | None:
        """The trainer's word, with its age on our clock."""
        beat = self.beat(run_id, attempt)
        if beat is None:
            return None
        age_s = self._now() - self._sightings[run_id].moved_at
        return beat.progress.model_copy(update={"age_s": round(age_s, 3)})

    def step(self, run_id: str) -> int | None:
        """The trainer's step, as last heard."""
        known = self._sightings.get(run_id)
        return known.beat.progress.step if known is not None and known.beat is not None else None

    def beat(self, run_id: str, attempt: int) -> Heartbeat | None:
        """The newest heartbeat of this attempt."""
        known = self._sightings.get(run_id)
        return known.beat if known is not None and known.attempt == attempt else None

    def beats(self) -> list[tuple[float, Heartbeat]]:
        """The newest heartbeat of each run, and when it was heard (monotonic)."""
        known = self._sightings.values()
        return [(one.heard_at, one.beat) for one in known if one.beat is not None]

    def forget(self, run_id: str) -> None:
        """The run has ended."""
        self._sightings.pop(run_id, None)
        self._with_events = {key for key in self._with_events if key[0] != run_id}

    def _is_silent(self, sighting: Sighting) -> bool:
        return self._now() - sighting.heard_at > UNRESPONSIVE_AFTER_S
