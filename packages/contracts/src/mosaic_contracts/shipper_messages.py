"""What a run's shipper and the stack say to each other on the bus, as JSON.

A module of its own, for a shipper starts with every run: it imports nothing that describes runs, workers or stores.
"""

from typing import Any

from pydantic import Field

from mosaic_contracts.models import PeerModel
from mosaic_contracts.problems import Problem


class Reply(PeerModel):
    """Answer of a service: a result or a problem."""

    result: Any = None
    problem: Problem | None = None


class Progress(PeerModel):
    """Progress as the trainer reports it."""

    step: int = 0
    total: int | None = None
    age_s: float | None = None
    """Seconds since the trainer last reported progress, by the receiver's clock."""


class SourceMark(PeerModel):
    """How many events of one source of an attempt are in the store."""

    attempt: int
    source: str
    last_seq: int
    """Highest seq in the store."""
    next_seq: int
    """First seq that is not in the store. All lower ones are."""
    missing: int
    """Seqs below `last_seq` that are not in the store."""


class CommittedRequest(PeerModel):
    """Asks how far a run's sources are in the store."""

    run_id: str
    from_seq: int = 1
    """`next_seq` of the answer is sought from here on. Above 1 it is the first seq that the asker still has: after a
    loss of the store, what is below it cannot come any more and stays a gap."""


class Committed(PeerModel):
    """How far a run's sources are in the store. Also published on `subjects.committed(run_id)` after commits, at
    most four times a second for each run."""

    run_id: str
    marks: list[SourceMark]


class Heartbeat(PeerModel):
    """State of a trainer, on `subjects.heartbeat(run_id)`. Sent every second for a watched run, else every two
    seconds."""

    run_id: str
    attempt: int
    progress: Progress
    worker_pid: int | None = None
    worker_state: str | None = None
    """Letter of /proc/<pid>/stat (R, S, D, T, Z), or None when there is no such process."""
    cpu_s: float | None = None
    rss_bytes: int | None = None
    last_seq: int = 0
    """Highest seq in the outbox."""
    acked_seq: int = 0
    committed_seq: int = 0
    outbox_bytes: int = 0
    waiting_for_outbox: bool = False
    """Whether the trainer waits because its outbox is full."""
    note: str = ""
    """Why the broker accepts no batch now."""
    notes: list[str] = Field(default_factory=list)
    """The worker's current notes for the user (`Telemetry.note`)."""


class ControlRequest(PeerModel):
    """`subjects.control(run_id)`, answered by the shipper, which asks the trainer if necessary."""

    op: str
    """`watch` (ttl_s: publish every 20 ms instead of 100 ms), `frames` (data: `FramesWanted`, for ttl_s), `show` (data:
    `StepRange`), `act` (data: `PlayInputs`), `stop`, `terminate` (SIGTERM to the runner, for an engine that cannot
    signal it alone), `ping`."""
    ttl_s: float | None = None
    data: dict[str, Any] = Field(default_factory=dict)
