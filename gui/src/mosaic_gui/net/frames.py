"""Frames of the live connection, from bytes to models."""

from typing import Any

import msgspec
from pydantic import ValidationError

from mosaic_contracts.live import (
    Ended,
    Hello,
    Missed,
    Pong,
    ProblemFrame,
    RunChanged,
    Snapshot,
)
from mosaic_gui.state.follow import EventBatch
from mosaic_gui.state.store import Frame

_MODELS: dict[str, Any] = {
    model.model_fields["op"].default: model
    for model in (Hello, Snapshot, RunChanged, Missed, Ended, Pong, ProblemFrame)
}
_RUN = str(RunChanged.model_fields["op"].default)
_AHEAD = tuple(
    msgspec.msgpack.encode("op") + msgspec.msgpack.encode(model.model_fields["op"].default)
    for model in (RunChanged, Hello, Pong, ProblemFrame)
)
"""First bytes of frames with a present state, which need not wait for events before them."""
Plain = dict[str, Any]
_decoder = msgspec.msgpack.Decoder()
_encoder = msgspec.msgpack.Encoder()


class FrameUnreadable(Exception):
    """The gateway sent what this version cannot read."""


def goes_ahead(data: bytes) -> bool:
    """Whether a frame may be processed before the events that came before it.

    The gateway writes `op` as the first key. A frame that is written otherwise waits for its turn.
    """
    is_small_map = bool(data) and data[0] & 0xF0 == 0x80
    return is_small_map and data[1:].startswith(_AHEAD)


def decode(data: bytes) -> Plain:
    """A frame as it came, before it is read as a model. Raises FrameUnreadable."""
    try:
        plain: Plain = _decoder.decode(data)
        plain["op"]
    except (msgspec.DecodeError, KeyError, TypeError) as error:
        raise FrameUnreadable(f"{type(error).__name__}: {error}") from error
    return plain


def run_of(plain: Plain) -> str | None:
    """Id of the run of a `run` frame, None of any other. Raises FrameUnreadable."""
    if plain["op"] != _RUN:
        return None
    try:
        return str(plain["run"]["run_id"])
    except (KeyError, TypeError) as error:
        raise FrameUnreadable(f"{type(error).__name__}: {error}") from error


def read_frame(data: bytes) -> Frame | None:
    """One frame; None when it is of a kind that only a newer client knows. Raises FrameUnreadable."""
    return read_plain(decode(data))


def read_plain(plain: Plain) -> Frame | None:
    """The same of a frame that is decoded already. Raises FrameUnreadable."""
    try:
        if plain["op"] == "events":
            # most of the traffic: its columns are lists already, and each value is read where it is used
            return EventBatch(
                plain["run_id"], plain["events"], plain.get("columns") or {}, plain["cursor"]
            )
        model = _MODELS.get(plain["op"])
        return None if model is None else model.model_validate(plain)
    except (ValidationError, KeyError, TypeError) as error:
        raise FrameUnreadable(f"{type(error).__name__}: {error}") from error


def write_frame(frame: Any) -> bytes:
    """A client frame (a model of `mosaic_contracts.live`)."""
    return _encoder.encode(frame.model_dump(mode="json"))
