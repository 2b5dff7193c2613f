"""What a run of records means for the tables other than the blocks: pure, and validated before any transaction."""

import math
import struct
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from mosaic_contracts.evaluations import EVALUATION_RESULT
from mosaic_contracts.manifest_words import RUN_FILES
from mosaic_contracts.media_words import MEDIA_FAMILY, MEDIA_KINDS
from mosaic_contracts.storage_words import FILE_RESTORED
from mosaic_contracts.tracking_words import TRACKING_RUN
from mosaic_contracts.wire import (
    INTEGER_LIMIT,
    SOURCE_SUPERVISOR,
    THINNED,
    TYPE_OF,
    Artifact,
    ArtifactPruned,
    Batch,
    BatchInvalid,
    Checkpoint,
    Config,
    Episode,
    EpisodeStart,
    Extra,
    Kind,
    Metric,
    Record,
    Step,
    kind_of,
)

_MAX_ATTEMPT = 2**31
POINT = struct.Struct("<qqqd")
"""Seq, step, microseconds and value of a metric's point, as the store keeps it."""
NO_STEP = -(2**63)
"""Step of a point without one; no step can be it, for its range is checked."""
AFTER_WORKER = INTEGER_LIMIT // 2
"""Added to the seq of what the supervisor says of files: it counts after all that the attempt's worker said of them."""


class EpisodeSpan:
    """What a batch says of one episode."""

    __slots__ = ("end", "last_seq", "start_seq", "start_us", "steps")

    def __init__(self, seq: int, t_us: int) -> None:
        self.start_seq = seq
        self.last_seq = seq
        self.start_us = t_us
        self.steps = 0
        self.end: tuple[int, int, Episode] | None = None
        """(seq, microseconds, record) of the episode's end."""

    def merged(self, other: "EpisodeSpan") -> "EpisodeSpan":
        """What both say of the same episode, in whatever order they came. Neither is changed: a transaction
        that fails is tried again with the same batches."""
        early = min(self, other, key=lambda span: span.start_seq)
        both = EpisodeSpan(early.start_seq, early.start_us)
        both.last_seq = max(self.last_seq, other.last_seq)
        both.steps = self.steps + other.steps
        both.end = other.end or self.end
        return both


class File(NamedTuple):
    """A checkpoint or an artifact that was announced."""

    seq: int
    t_us: int
    record: Checkpoint | Artifact


class Evaluation(NamedTuple):
    """The result of an evaluation that names the file it evaluated."""

    seq: int
    t_us: int
    sha256: str
    mean: float | None
    data: dict[str, Any]


class StoredMedia(NamedTuple):
    """A text, a histogram, or the description of an image."""

    seq: int
    t_us: int
    kind: str
    name: str
    step: int | None
    value: bytes
    """msgpack of the event's data without name and step."""


class FolderReport(NamedTuple):
    """What a run's folder had after its end: data of a `FileReport`."""

    seq: int
    t_us: int
    data: dict[str, Any]


class BatchSummary(NamedTuple):
    """Everything that a batch adds outside its block."""

    t_min_us: int
    t_max_us: int
    kinds: int
    steps: int
    global_step: int
    dropped: int
    episodes: dict[tuple[int, int], EpisodeSpan]
    points: dict[str, bytearray]
    """By name of a metric its points, each as `POINT`, in order of seq."""
    files: list[File]
    removals: list[tuple[int, ArtifactPruned]]
    configs: list[tuple[int, bytes]]
    evaluations: list[Evaluation]
    reports: list[FolderReport]
    tracked: list[tuple[int, dict[str, Any]]]
    """Seq and data of events that name the run at a tracker."""
    restored: list[tuple[int, str]]
    """Seq and path of files that the scheduler brought back."""
    media: list[StoredMedia]


def summarize(batch: Batch, records: list[Record]) -> BatchSummary:
    """Fold records of a batch.

    Raises:
        BatchInvalid: an integer that the store cannot hold, or a thinned count that is none.
    """
    t0 = batch.t0_us
    steps, others = _summarize_steps(records, t0)
    summary = _Summarizer(batch, steps)
    for record in others:
        summary.add(record)
    first, last = t0 + records[0].dt, t0 + records[-1].dt
    _check_range(batch.seq0 + len(records), first, last, batch.t0_us)
    if batch.attempt >= _MAX_ATTEMPT:
        raise BatchInvalid(f"attempt {batch.attempt} is out of range")
    kinds = summary.kinds | (1 << Kind.STEP if len(others) < len(records) else 0)
    return BatchSummary(
        min(first, last),
        max(first, last),
        kinds,
        len(records) - len(others),
        summary.global_step,
        summary.dropped,
        summary.episodes,
        summary.points,
        summary.files,
        summary.removals,
        summary.configs,
        summary.evaluations,
        summary.reports,
        summary.tracked,
        summary.restored,
        summary.media,
    )


def _summarize_steps(
    records: list[Record], t0_us: int
) -> tuple[dict[tuple[int, int], EpisodeSpan], list[Record]]:
    """The hot path: nine of ten records are steps. Returns their episodes and the records that are none."""
    spans: dict[tuple[int, int], EpisodeSpan] = {}
    others: list[Record] = []
    span: EpisodeSpan | None = None
    env = episode = -1
    for record in records:
        if type(record) is not Step:
            others.append(record)
            continue
        if span is None or record.episode != episode or record.env != env:
            env, episode = record.env, record.episode
            span = spans.get((env, episode))
            if span is None:
                _check_range(env, episode, record.dt)
                span = spans[(env, episode)] = EpisodeSpan(record.seq, t0_us + record.dt)
        span.steps += 1
        span.last_seq = record.seq
    return spans, others


class _Summarizer:
    """Collects what records other than steps say."""

    def __init__(self, batch: Batch, episodes: dict[tuple[int, int], EpisodeSpan]) -> None:
        self._t0_us = batch.t0_us
        self._is_supervisor = batch.source == SOURCE_SUPERVISOR
        self._later = AFTER_WORKER if self._is_supervisor else 0
        self.kinds = 0
        self.global_step = 0
        self.dropped = 0
        self.episodes = episodes
        self.points: dict[str, bytearray] = {}
        self.files: list[File] = []
        self.removals: list[tuple[int, ArtifactPruned]] = []
        self.configs: list[tuple[int, bytes]] = []
        self.evaluations: list[Evaluation] = []
        self.reports: list[FolderReport] = []
        self.tracked: list[tuple[int, dict[str, Any]]] = []
        self.restored: list[tuple[int, str]] = []
        self.media: list[StoredMedia] = []

    def add(self, record: Record) -> None:
        self.kinds |= _BIT_OF[type(record)]
        t_us = self._t0_us + record.dt
        match record:
            case Episode() | EpisodeStart():
                self._add_episode(record, t_us)
            case Metric():
                self._add_metric(record, t_us)
            case Checkpoint() | Artifact():
                _check_range(record.bytes, t_us)
                self.files.append(File(record.seq + self._later, t_us, record))
                if isinstance(record, Checkpoint):
                    self._reach(record.step)
            case ArtifactPruned():
                self.removals.append((record.seq + self._later, record))
            case Config():
                self.configs.append((record.seq, msgspec.msgpack.encode(record.data)))
            case Extra() if record.type == THINNED:
                count = record.data.get("steps")
                if not isinstance(count, int) or not 0 <= count < INTEGER_LIMIT:
                    raise BatchInvalid(f"{THINNED} does not count steps: {count!r:.80}")
                self.dropped += count
            case Extra() if record.type == EVALUATION_RESULT:
                evaluation = read_evaluation(record, t_us)
                self.evaluations += [] if evaluation is None else [evaluation]
            case Extra() if record.type == RUN_FILES and self._is_supervisor:
                _check_range(t_us)
                self.reports.append(FolderReport(record.seq + self._later, t_us, record.data))
            case Extra() if record.type == FILE_RESTORED and self._is_supervisor:
                path = record.data.get("path")
                if isinstance(path, str):
                    self.restored.append((record.seq + self._later, path))
            case Extra() if record.type == TRACKING_RUN:
                self.tracked.append((record.seq, record.data))
            case Extra() if record.type.startswith(MEDIA_FAMILY) and not self._is_supervisor:
                found = read_media_event(record, t_us)
                self.media += [] if found is None else [found]
            case _:
                pass

    def _add_metric(self, record: Metric, t_us: int) -> None:
        points = self.points.get(record.name)
        if points is None:
            points = self.points[record.name] = bytearray()
        step = record.step
        if step is None:
            _check_range(record.seq, t_us)
            step = NO_STEP
        else:
            _check_range(record.seq, step, t_us)
            self.global_step = max(self.global_step, step)
        points += POINT.pack(record.seq, step, t_us, record.value)

    def _add_episode(self, record: Episode | EpisodeStart, t_us: int) -> None:
        key = (record.env, record.episode)
        span = self.episodes.get(key)
        if span is None:
            _check_range(record.env, record.episode, t_us)
            span = self.episodes[key] = EpisodeSpan(record.seq, t_us)
        elif record.seq < span.start_seq:
            _check_range(t_us)
            span.start_seq, span.start_us = record.seq, t_us
        span.last_seq = max(span.last_seq, record.seq)
        if isinstance(record, Episode):
            _check_range(record.length, record.flags, record.global_step, t_us)
            self.global_step = max(self.global_step, record.global_step)
            span.end = (record.seq, t_us, record)

    def _reach(self, step: int) -> None:
        _check_range(step)
        self.global_step = max(self.global_step, step)


def read_evaluation(record: Extra, t_us: int) -> Evaluation | None:
    """Read the result of an evaluation; None: it does not name its file."""
    digest = record.data.get("checkpoint_sha256")
    if not isinstance(digest, str):
        return None
    _check_range(t_us)
    return Evaluation(record.seq, t_us, digest, finite(record.data.get("mean")), record.data)


def read_media_event(record: Extra, t_us: int) -> StoredMedia | None:
    """Read a text, histogram or image; None: it is none that this store knows. The event itself is kept."""
    kind = record.type.removeprefix(MEDIA_FAMILY)
    name, step = record.data.get("name"), record.data.get("step")
    if kind not in MEDIA_KINDS or not isinstance(name, str) or not name:
        return None
    if step is not None:
        if not isinstance(step, int) or isinstance(step, bool):
            return None
        _check_range(step)
    _check_range(t_us)
    value = {key: one for key, one in record.data.items() if key not in ("name", "step")}
    return StoredMedia(record.seq, t_us, kind, name, step, msgspec.msgpack.encode(value))


def finite(value: object) -> float | None:
    """The value where it is a finite number; None for all else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None  # type: ignore[arg-type] # a number


def bits_of(records: Iterable[Record]) -> int:
    """Bit `1 << kind` for every kind of record among them."""
    bits = 0
    for record_type in {type(record) for record in records}:
        bits |= _BIT_OF[record_type]
    return bits


def _check_range(*values: int) -> None:
    for value in values:
        if not -INTEGER_LIMIT < value < INTEGER_LIMIT:
            raise BatchInvalid(f"{value} is out of the range of the store")


_BIT_OF: dict[type[msgspec.Struct], int] = {
    **{record: 1 << kind_of(record) for record in TYPE_OF},
    Extra: 1 << Kind.EXTRA,
}
