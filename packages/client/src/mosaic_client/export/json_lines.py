"""Writes events as JSON lines: strict JSON, non-finite numbers as the words NaN, Infinity and -Infinity.

A run consists of steps, metrics and episodes. They are encoded from structs, without a dictionary for each event.
Nested values are encoded first, because in them nobody looked for numbers that are not finite.
"""

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import msgspec

from mosaic_client.export.json_values import json_bytes, json_number
from mosaic_client.export.stored import StoredPart
from mosaic_contracts.builtin_values import event_to_builtin, to_builtin
from mosaic_contracts.wire import Episode, EpisodeStart, Metric, Step, to_event

_encode_lines = msgspec.json.Encoder().encode_lines
_PLAIN = frozenset({int, bool, str, type(None)})
"""Types whose values are encoded as they are."""


class _Line(msgspec.Struct):
    """An event; the order of fields is that of a line."""

    v: int
    run_id: str
    attempt: int
    source: str
    seq: int
    t: float
    type: str


class _StepLine(_Line, gc=False):
    env: int
    episode: int
    step: int
    action: Any
    reward: Any
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
    episode_return: Any
    flags: int
    duration_s: Any
    global_step: int


class _MetricLine(_Line, gc=False):
    name: str
    step: int | None
    value: Any


def write_json_lines(parts: Iterable[StoredPart], file: BinaryIO) -> Iterator[int]:
    """Write one event a line. Yields the number of events written so far, after each part."""
    count = 0
    for part in parts:
        file.write(json_lines(part))
        count += len(part.records)
        yield count


def json_lines(part: StoredPart) -> bytes:
    """Encode records of one batch as events, one a line."""
    batch, spaces = part.part.batch, part.spaces
    t0_us, known = batch.t0_us, spaces or {}
    action_space, observation_space = known.get("action"), known.get("observation")
    v, run_id, attempt, source = batch.v, batch.run_id, batch.attempt, batch.source
    lines: list[Any] = []
    for record in part.records:
        t = (t0_us + record.dt) / 1e6
        if isinstance(record, Step):
            action, reward, observation = record.action, record.reward, record.observation
            lines.append(
                _StepLine(
                    v,
                    run_id,
                    attempt,
                    source,
                    record.seq,
                    t,
                    "step",
                    record.env,
                    record.episode,
                    record.step,
                    action if type(action) in _PLAIN else _packed(action, action_space),
                    # a number that is not finite is not equal to itself less itself
                    reward if reward - reward == 0 else json_number(reward),
                    record.flags,
                    record.hash.hex(),
                    record.actor,
                    observation
                    if type(observation) in _PLAIN
                    else _packed(observation, observation_space),
                )
            )
        elif isinstance(record, Metric):
            value = json_number(record.value)
            lines.append(
                _MetricLine(
                    v,
                    run_id,
                    attempt,
                    source,
                    record.seq,
                    t,
                    "metric",
                    record.name,
                    record.step,
                    value,
                )
            )
        elif isinstance(record, EpisodeStart):
            lines.append(
                _EpisodeStartLine(
                    v,
                    run_id,
                    attempt,
                    source,
                    record.seq,
                    t,
                    "episode_start",
                    record.env,
                    record.episode,
                    _packed(record.reset, None),
                    record.hash.hex(),
                    _packed(record.observation, observation_space),
                )
            )
        elif isinstance(record, Episode):
            lines.append(
                _EpisodeLine(
                    v,
                    run_id,
                    attempt,
                    source,
                    record.seq,
                    t,
                    "episode",
                    record.env,
                    record.episode,
                    record.length,
                    json_number(record.episode_return),
                    record.flags,
                    json_number(record.duration_s),
                    record.global_step,
                )
            )
        else:
            event = event_to_builtin(to_event(batch, record), spaces)
            lines.append({name: _packed(value, None) for name, value in event.items()})
    encoded: bytes = _encode_lines(lines)
    return encoded


def _packed(value: Any, space: Any) -> Any:
    """A value as it is encoded in a line, of which `space` explains raw bytes."""
    plain = to_builtin(value, space if isinstance(space, dict) else None)
    if type(plain) in _PLAIN:
        return plain
    return json_number(plain) if type(plain) is float else msgspec.Raw(json_bytes(plain))
