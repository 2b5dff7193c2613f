"""A synthetic run whose every record follows from its seq, so that what was stored can be checked value by value."""

import json
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import zstandard

from mosaic_contracts.wire import (
    ENCODING_ZSTD,
    SOURCE_WORKER,
    BatchHead,
    Config,
    Episode,
    EpisodeStart,
    Metric,
    Record,
    Step,
    StepFlag,
    encode_record,
    join_batch,
)

RUN_ID = "01JGXSYNTHET1CRVN000000000"
T0_US = 1_700_000_000_000_000
STEPS = 17
"""Steps of an episode."""
CYCLE = STEPS + 3
"""Records of an episode: its start, its steps, its end, one metric."""
SPACES = {
    "observation": {"kind": "box", "dtype": "<f4", "shape": [2, 2]},
    "action": {"kind": "discrete", "n": 2},
}
METRIC = "losses/värde_🙂"
_STRANGE = {7: math.nan, 8: math.inf, 9: -math.inf, 10: 1e308, 11: -1e308}
_OBSERVATION = bytes(range(16))


class Message(NamedTuple):
    """What a shipper would publish."""

    head: BatchHead
    payload: bytes
    encoding: str = ENCODING_ZSTD


def record_at(seq: int, full: bool = False) -> Record:
    """The record with that seq. `full`: steps carry an observation."""
    if seq == 1:
        return Config(1, 0, {"spaces": SPACES, "algorithm": "synthetic", "num_envs": 1})
    episode, place = divmod(seq - 2, CYCLE)
    dt = seq * 10
    if place == 0:
        return EpisodeStart(seq, dt, 0, episode, {"way": "seed", "seed": episode}, _hash(seq))
    if place <= STEPS:
        flags = int(StepFlag.TERMINATED) if place == STEPS else 0
        observation = _OBSERVATION if full else None
        action, reward = seq % 2, (seq % 97) / 7
        return Step(seq, dt, 0, episode, place, action, reward, flags, _hash(seq), 0, observation)
    step = (episode + 1) * STEPS
    if place == STEPS + 1:
        total = _value(episode)
        return Episode(seq, dt, 0, episode, STEPS, total, int(StepFlag.TERMINATED), 0.5, step)
    return Metric(seq, dt, METRIC, step, _value(episode))


def message(
    first: int,
    last: int,
    run_id: str = RUN_ID,
    attempt: int = 1,
    source: str = SOURCE_WORKER,
    full: bool = False,
) -> Message:
    """The batch of `first..last`."""
    head = BatchHead(run_id, attempt, source, first, last - first + 1)
    body = b"".join(encode_record(record_at(seq, full)) for seq in range(first, last + 1))
    raw = join_batch(head, T0_US, body)
    return Message(head, zstandard.ZstdCompressor(level=1).compress(raw))


def messages(last: int, size: int, run_id: str = RUN_ID, full: bool = False) -> Iterator[Message]:
    """All records up to `last` in batches of `size`."""
    for first in range(1, last + 1, size):
        yield message(first, min(last, first + size - 1), run_id, full=full)


def strict_json(value: Any) -> bytes:
    """Encode a plain value, non-finite floats as words. Raises TypeError for what is no JSON value, such as bytes."""
    text = json.dumps(_with_words(value), allow_nan=False, ensure_ascii=False)
    return text.encode()


def _with_words(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _with_words(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_words(item) for item in value]
    return value


def _value(episode: int) -> float:
    return _STRANGE.get(episode % 50, episode / 3)


def _hash(seq: int) -> bytes:
    return seq.to_bytes(8, "little")
