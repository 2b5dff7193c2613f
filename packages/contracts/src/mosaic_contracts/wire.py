"""The event codec: msgspec msgpack, positional records in batches. The pydantic models in
`mosaic_contracts.events` are the published contract; a test holds the two equal.

A record is written once, by the worker, and travels undecoded to the store: outbox frame, batch on the broker,
block in the store. So a batch is `[v, run_id, attempt, source, seq0, t0_us, [record, ...]]`, whose tail is the
concatenation of the records' bytes (`join_batch`).
"""

import struct
from collections.abc import Callable
from enum import IntEnum, IntFlag
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from mosaic_contracts.ids import parse_run_id

WIRE_VERSION = 1
MAX_EVENT_BYTES = 2 * 2**20
"""Maximum size of one encoded record, in bytes. The writer refuses larger ones."""
MAX_BATCH_EVENTS = 1000
MAX_BATCH_BYTES = 4 * 2**20
"""Maximum size of a batch's records, in bytes. The broker's max_payload is above it."""
INTEGER_LIMIT = 2**62
"""Steps, episodes, sub-environments, lengths and counts of an event lie below it: the store's columns hold no more."""

MSG_ID_HEADER = "Nats-Msg-Id"
BATCH_HEADER = "Mosaic-Batch"
ENCODING_HEADER = "Mosaic-Encoding"
ENCODING_ZSTD = "zstd"
ENCODING_IDENTITY = "identity"

SOURCE_WORKER = "worker"
SOURCE_SUPERVISOR = "supervisor"
SOURCES = (SOURCE_WORKER, SOURCE_SUPERVISOR)


class Kind(IntEnum):
    """Kind of a record: its first element."""

    STEP = 1
    EPISODE_START = 2
    EPISODE = 3
    METRIC = 4
    LOG = 5
    CONFIG = 6
    LIFECYCLE = 7
    CHECKPOINT = 8
    ARTIFACT = 9
    ARTIFACT_PRUNED = 10
    EXTRA = 11


class StepFlag(IntFlag):
    """Flags of a step and of an episode's end."""

    TERMINATED = 1
    TRUNCATED = 2


class Actor(IntEnum):
    """The source of an action."""

    POLICY = 0
    HUMAN = 1
    SCRIPT = 2


class _Record(msgspec.Struct, array_like=True, tag_field="record"):
    """The first element of a record is its type."""

    seq: int
    dt: int
    """Microseconds after the batch's t0, on the writer's monotonic clock."""


class Step(_Record, array_like=True, tag=int(Kind.STEP), gc=False):
    """One environment step. 12 elements, about 60 bytes without observation."""

    env: int
    """Index of the sub-environment in a vector environment."""
    episode: int
    """Number of the episode within (attempt, env), from 0."""
    step: int
    """Number of the step within the episode, from 1."""
    action: Any
    """Action: int, float, list, or raw little-endian bytes of the dtype and shape of the config's action space."""
    reward: float
    flags: int
    hash: bytes
    """blake2b, 8 bytes, over the little-endian raw observation (dict observations by sorted key), float64 reward
    and one byte of flags (architecture, "Events")."""
    actor: int = 0
    observation: Any = None
    """Observation in the form of `action`, at recording level `full`; otherwise nil."""


class EpisodeStart(_Record, array_like=True, tag=int(Kind.EPISODE_START)):
    """A reset. `reset` says how to rebuild it (episode facts): `{"way": "generator", "state": "<json>"}`."""

    env: int
    episode: int
    reset: dict[str, Any]
    hash: bytes
    """Hash of the observation, computed as a step's with reward 0 and flags 0."""
    observation: Any = None


class Episode(_Record, array_like=True, tag=int(Kind.EPISODE), gc=False):
    """The end of an episode."""

    env: int
    episode: int
    length: int
    """Number of steps."""
    episode_return: float
    """Sum of raw rewards, undiscounted."""
    flags: int
    duration_s: float
    global_step: int
    """Environment steps of the run so far, over all sub-environments."""


class Metric(_Record, array_like=True, tag=int(Kind.METRIC), gc=False):
    """One value of a metric. NaN and infinities are permitted."""

    name: str
    step: int | None
    value: float


class Log(_Record, array_like=True, tag=int(Kind.LOG)):
    """A log message. `level` is debug, info, warning or error."""

    level: str
    message: str
    data: dict[str, Any] = {}


class Config(_Record, array_like=True, tag=int(Kind.CONFIG)):
    """Configuration of a run, and first event of its worker: arguments, spaces, packages, files."""

    data: dict[str, Any]


class Lifecycle(_Record, array_like=True, tag=int(Kind.LIFECYCLE)):
    """A phase of the worker (`training`, `done`, `stopped`, `error`), or, from the supervisor, a state of the run."""

    phase: str
    data: dict[str, Any] = {}


class Checkpoint(_Record, array_like=True, tag=int(Kind.CHECKPOINT)):
    """A line that announces a checkpoint which is complete on disk."""

    path: str
    """Relative to the run folder."""
    step: int
    sha256: str
    bytes: int
    reason: str
    """`periodic`, `best`, `stop`, `final`, or `imported`."""
    data: dict[str, Any] = {}
    """What a worker says of it, and the mean return of the episodes before it (`mosaic_contracts.checkpoints`)."""


class Artifact(_Record, array_like=True, tag=int(Kind.ARTIFACT)):
    """A file or folder of the run that is no checkpoint."""

    path: str
    kind: str
    bytes: int
    sha256: str | None = None
    data: dict[str, Any] = {}


class ArtifactPruned(_Record, array_like=True, tag=int(Kind.ARTIFACT_PRUNED)):
    """A file was deleted on purpose."""

    path: str
    reason: str
    data: dict[str, Any] = {}
    """`kind`, `bytes` and `rule` of a removal by the scheduler; empty where a worker deleted the file."""


class Extra(_Record, array_like=True, tag=int(Kind.EXTRA)):
    """A namespaced event that a reader may not know and must keep, e.g. `bdi.intention`.

    `mosaic.thinned` with `{"steps": n}` counts step events that were dropped at a full outbox or not recorded.
    """

    type: str
    data: dict[str, Any]


Record = (
    Step
    | EpisodeStart
    | Episode
    | Metric
    | Log
    | Config
    | Lifecycle
    | Checkpoint
    | Artifact
    | ArtifactPruned
    | Extra
)
THINNED = "mosaic.thinned"


class Batch(msgspec.Struct, array_like=True):
    """Content of one message, and of one block of the store."""

    v: int
    run_id: str
    attempt: int
    source: str
    seq0: int
    t0_us: int
    """Wall clock of the writer, microseconds since the epoch; a record's time is t0_us + dt."""
    records: list[Record]


class BatchHead(NamedTuple):
    """What the header of a batch says, without decoding the records."""

    run_id: str
    attempt: int
    source: str
    seq0: int
    n: int

    def header(self) -> str:
        """Format the `Mosaic-Batch` header.

        Returns:
            Its value.
        """
        return f"{WIRE_VERSION} {self.run_id} {self.attempt} {self.source} {self.seq0} {self.n}"

    def msg_id(self, nonce: str) -> str:
        """Value of `Nats-Msg-Id`. It names the whole range: after a shipper restart the bounds differ, and the
        broker would otherwise swallow the longer batch as a duplicate."""
        return f"{nonce}:{self.run_id}:{self.attempt}:{self.source}:{self.seq0}:{self.n}"


class BatchInvalid(ValueError):
    """A message is no batch that may be stored."""


_encoder = msgspec.msgpack.Encoder()
_batch_decoder = msgspec.msgpack.Decoder(Batch)
_record_decoder: msgspec.msgpack.Decoder[Record] = msgspec.msgpack.Decoder(Record)

encode_record = _encoder.encode


def decode_record(data: bytes | memoryview) -> Record:
    """Decode one record.

    Args:
        data: msgpack of the record.

    Returns:
        The record.

    Raises:
        BatchInvalid: not a record of this version.
    """
    try:
        return _record_decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BatchInvalid(str(error)) from error
    except RecursionError as error:
        raise BatchInvalid("a record is nested too deeply") from error


def parse_batch_header(text: str) -> BatchHead:
    """Parse a `Mosaic-Batch` header.

    Args:
        text: its value.

    Returns:
        What it says of the batch.

    Raises:
        BatchInvalid: it cannot be read.
    """
    parts = text.split(" ")
    if len(parts) != 6 or parts[0] != str(WIRE_VERSION):
        raise BatchInvalid(f"batch header {text[:80]!r} is not of version {WIRE_VERSION}")
    try:
        head = BatchHead(
            parse_run_id(parts[1]), int(parts[2]), parts[3], int(parts[4]), int(parts[5])
        )
    except ValueError as error:
        raise BatchInvalid(str(error)) from error
    if head.attempt < 1 or head.seq0 < 1 or head.n < 1 or head.source not in SOURCES:
        raise BatchInvalid(f"batch header {text[:80]!r} has a value out of range")
    return head


def join_batch(head: BatchHead, t0_us: int, records: bytes) -> bytes:
    """Wrap encoded records as one batch without decoding them.

    Args:
        head: run, attempt, source, first seq and number of the records.
        t0_us: time from which the records' `dt` counts, microseconds since the epoch.
        records: `head.n` encoded records, back to back.

    Returns:
        The encoded batch.
    """
    prefix = _encoder.encode(
        (WIRE_VERSION, head.run_id, head.attempt, head.source, head.seq0, t0_us)
    )
    # A fixarray of 6 (0x96) becomes one of 7; the seventh is an array32 of records.
    return b"\x97" + prefix[1:] + b"\xdd" + struct.pack(">I", head.n) + records


def decode_batch(data: bytes, *, thinned: bool = False) -> Batch:
    """Decode and validate a batch: version, run id, and seq contiguous from seq0.

    Args:
        data: msgpack of the batch.
        thinned: whether seqs may be missing: steps may have been removed from a stored batch. The others ascend.

    Returns:
        The batch with its records.

    Raises:
        BatchInvalid: anything that must not enter the store.
    """
    try:
        batch = _batch_decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BatchInvalid(str(error)) from error
    except RecursionError as error:
        raise BatchInvalid("a record is nested too deeply") from error
    if batch.v != WIRE_VERSION:
        raise BatchInvalid(f"batch version {batch.v} is not {WIRE_VERSION}")
    try:
        parse_run_id(batch.run_id)
    except ValueError as error:
        raise BatchInvalid(str(error)) from error
    if batch.source not in SOURCES or batch.attempt < 1 or batch.seq0 < 1 or not batch.records:
        raise BatchInvalid("batch has an unknown source, no attempt or no records")
    seqs = [record.seq for record in batch.records]
    is_whole = seqs == list(range(batch.seq0, batch.seq0 + len(seqs)))
    if not (is_whole or (thinned and _ascend(seqs, batch.seq0))):
        raise BatchInvalid("batch is not contiguous in seq")
    return batch


def _ascend(seqs: list[int], first: int) -> bool:
    return seqs[0] >= first and all(one < after for one, after in pairwise(seqs))


TYPE_OF: dict[type[msgspec.Struct], str] = {
    Step: "step",
    EpisodeStart: "episode_start",
    Episode: "episode",
    Metric: "metric",
    Log: "log",
    Config: "config",
    Lifecycle: "lifecycle",
    Checkpoint: "checkpoint",
    Artifact: "artifact",
    ArtifactPruned: "artifact_pruned",
}
"""Event type by record class; an `Extra` names its own type."""


def kind_of(record_type: type[msgspec.Struct]) -> Kind:
    """Find the kind of a record class.

    Args:
        record_type: the class.

    Returns:
        Its kind, the first element of the record on the wire.

    Raises:
        TypeError: it is no record class.
    """
    tag = record_type.__struct_config__.tag
    if not isinstance(tag, int):
        raise TypeError(f"{record_type.__name__} is no record")
    return Kind(tag)


def event_type(record: Record) -> str:
    """Find the type of the event that a record encodes.

    Args:
        record: the record.

    Returns:
        The type, e.g. `step`, or the namespaced name of an extra event.
    """
    return record.type if isinstance(record, Extra) else TYPE_OF[type(record)]


def to_event(batch: Batch, record: Record) -> dict[str, Any]:
    """Convert a record to an event: envelope and fields by name.

    Args:
        batch: the batch that the record belongs to.
        record: the record.

    Returns:
        A dictionary. `hash` is hexadecimal text; raw bytes of actions and observations stay bytes
        (`mosaic_contracts.builtin_values` turns them into lists, by the run's spaces). Floats may be non-finite.
    """
    return _WRITERS.get(type(record), _write_any)(batch, record)


def to_events(batch: Batch, records: list[Record]) -> list[dict[str, Any]]:
    """Convert records of one batch to events; see `to_event`.

    Args:
        batch: the batch that they belong to.
        records: some of its records.

    Returns:
        Events in the same order.
    """
    find = _WRITERS.get
    return [find(type(record), _write_any)(batch, record) for record in records]


def _write_any(batch: Batch, record: Any) -> dict[str, Any]:
    event: dict[str, Any] = {
        "v": batch.v,
        "run_id": batch.run_id,
        "attempt": batch.attempt,
        "source": batch.source,
        "seq": record.seq,
        "t": (batch.t0_us + record.dt) / 1e6,
        "type": event_type(record),
    }
    for name in record.__struct_fields__:
        if name not in ("seq", "dt", "type"):
            event[name] = getattr(record, name)
    if "hash" in event:
        event["hash"] = event["hash"].hex()
    return event


# A run consists of steps and metrics; one dict display takes half the time of `_write_any`. A test holds the two equal.


def _write_step(batch: Batch, record: Any) -> dict[str, Any]:
    return {
        "v": batch.v,
        "run_id": batch.run_id,
        "attempt": batch.attempt,
        "source": batch.source,
        "seq": record.seq,
        "t": (batch.t0_us + record.dt) / 1e6,
        "type": "step",
        "env": record.env,
        "episode": record.episode,
        "step": record.step,
        "action": record.action,
        "reward": record.reward,
        "flags": record.flags,
        "hash": record.hash.hex(),
        "actor": record.actor,
        "observation": record.observation,
    }


def _write_metric(batch: Batch, record: Any) -> dict[str, Any]:
    return {
        "v": batch.v,
        "run_id": batch.run_id,
        "attempt": batch.attempt,
        "source": batch.source,
        "seq": record.seq,
        "t": (batch.t0_us + record.dt) / 1e6,
        "type": "metric",
        "name": record.name,
        "step": record.step,
        "value": record.value,
    }


_WRITERS: dict[type, Callable[[Batch, Any], dict[str, Any]]] = {
    Step: _write_step,
    Metric: _write_metric,
}
