"""Writes events as JSON lines: strict JSON, non-finite numbers as the words NaN, Infinity and -Infinity.

A run consists of steps, metrics and episodes. They are encoded from structs, without a dictionary for each event, and
what all events of a batch have in common is encoded once.
"""

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import msgspec
from msgspec.structs import astuple
from pydantic_core import to_json

from mosaic_client.export.stored import Spaces, StoredPart
from mosaic_contracts.builtin_values import event_to_builtin, to_builtin
from mosaic_contracts.wire import (
    Batch,
    Episode,
    EpisodeStart,
    Metric,
    Record,
    Step,
    to_event,
)

_encode_lines = msgspec.json.Encoder().encode_lines
_SCALARS = frozenset({int, float, bool, str, type(None)})
_SHARED = ("v", "run_id", "attempt", "source")
"""Fields that all events of a batch have in common; they come first in a line."""


class _Line(msgspec.Struct):
    """An event without the fields that its whole batch has; the order of fields is that of a line."""

    seq: int
    t: float
    type: str


class _StepLine(_Line, gc=False):
    env: int
    episode: int
    step: int
    action: Any
    reward: float
    flags: int
    hash: str
    actor: int
    observation: Any


class _EpisodeStartLine(_Line):
    env: int
    episode: int
    reset: Any
    hash: str
    observation: Any


class _EpisodeLine(_Line, gc=False):
    env: int
    episode: int
    length: int
    episode_return: float
    flags: int
    duration_s: float
    global_step: int


class _MetricLine(_Line, gc=False):
    name: str
    step: int | None
    value: float


def write_json_lines(parts: Iterable[StoredPart], file: BinaryIO) -> Iterator[int]:
    """Write one event a line. Yields the number of events written so far, after each part."""
    count = 0
    for part in parts:
        file.write(json_lines(part))
        count += len(part.records)
        yield count


def json_lines(part: StoredPart) -> bytes:
    """Encode records of one batch as events, one a line."""
    batch, records = part.part.batch, part.records
    made, empty = _lines(batch, records, part.spaces)
    lines: bytes = _encode_lines(made)
    # msgspec writes null for a number that is not finite, which in nested values nobody looked for. There was none if
    # no more nulls were written than events have empty fields; else the lines in which there are more are written
    # again, with words.
    if lines.count(b"null") != empty:
        lines = b"".join(
            line + b"\n"
            if line.count(b"null") == _empty_fields(each)
            else _with_words(batch, record, part.spaces)
            for record, each, line in zip(records, made, lines.split(b"\n"), strict=False)
        )
    # A line feed in text is escaped, so this one ends a line.
    shared = msgspec.json.encode({name: getattr(batch, name) for name in _SHARED})[:-1] + b","
    return shared + lines[1:].replace(b"\n{", b"\n" + shared)


def _lines(batch: Batch, records: list[Record], spaces: Spaces | None) -> tuple[list[Any], int]:
    """What is encoded, a line each, and the number of empty fields in it."""
    t0_us, spaces = batch.t0_us, spaces or {}
    action_space, observation_space = spaces.get("action"), spaces.get("observation")
    lines: list[Any] = []
    empty = 0
    for record in records:
        t = (t0_us + record.dt) / 1e6
        if isinstance(record, Step):
            action, observation = record.action, record.observation
            if type(action) not in _SCALARS:
                action = _plain(action, action_space)
            if type(observation) not in _SCALARS:
                observation = _plain(observation, observation_space)
            empty += (action is None) + (observation is None)
            reward: Any = record.reward
            if reward - reward:  # it is not finite
                reward = _word(reward)
            lines.append(
                _StepLine(
                    record.seq,
                    t,
                    "step",
                    record.env,
                    record.episode,
                    record.step,
                    action,
                    reward,
                    record.flags,
                    record.hash.hex(),
                    record.actor,
                    observation,
                )
            )
        elif isinstance(record, Metric):
            empty += record.step is None
            value: Any = record.value
            if value - value:
                value = _word(value)
            lines.append(_MetricLine(record.seq, t, "metric", record.name, record.step, value))
        elif isinstance(record, EpisodeStart):
            observation = _plain(record.observation, observation_space)
            empty += observation is None
            lines.append(
                _EpisodeStartLine(
                    record.seq,
                    t,
                    "episode_start",
                    record.env,
                    record.episode,
                    _plain(record.reset, None),
                    record.hash.hex(),
                    observation,
                )
            )
        elif isinstance(record, Episode):
            total: Any = record.episode_return
            if total - total:
                total = _word(total)
            lines.append(
                _EpisodeLine(
                    record.seq,
                    t,
                    "episode",
                    record.env,
                    record.episode,
                    record.length,
                    total,
                    record.flags,
                    record.duration_s,
                    record.global_step,
                )
            )
        else:
            event = _event(batch, record, spaces)
            empty += list(event.values()).count(None)
            lines.append(event)
    return lines, empty


def _word(value: float) -> str:
    """A number that is not finite, as it is in a line."""
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def _empty_fields(made: Any) -> int:
    values = made.values() if isinstance(made, dict) else astuple(made)
    return list(values).count(None)


def _plain(value: Any, space: Any) -> Any:
    return to_builtin(value, space if isinstance(space, dict) else None)


def _event(batch: Batch, record: Record, spaces: Spaces | None) -> dict[str, Any]:
    """Any event, without the fields that its whole batch has."""
    event = event_to_builtin(to_event(batch, record), spaces)
    for name in _SHARED:
        del event[name]
    return event


def _with_words(batch: Batch, record: Record, spaces: Spaces | None) -> bytes:
    return to_json(_event(batch, record, spaces), inf_nan_mode="strings") + b"\n"
