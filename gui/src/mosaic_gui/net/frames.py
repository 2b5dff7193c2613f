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
_decoder = msgspec.msgpack.Decoder()
_encoder = msgspec.msgpack.Encoder()


class FrameUnreadable(Exception):
    """The gateway sent what this version cannot read."""


def read_frame(data: bytes) -> Frame | None:
    """One frame; None when it is of a kind that only a newer client knows.

    Raises:
        FrameUnreadable: it is no frame.
    """
    try:
        plain = _decoder.decode(data)
        op = plain["op"]
        if op == "events":
            # most of the traffic: its columns are lists already, and each value is read where it is used
            return EventBatch(
                plain["run_id"], plain["events"], plain.get("columns") or {}, plain["cursor"]
            )
        model = _MODELS.get(op)
        return None if model is None else model.model_validate(plain)
    except (msgspec.DecodeError, ValidationError, KeyError, TypeError) as error:
        raise FrameUnreadable(f"{type(error).__name__}: {error}") from error


def write_frame(frame: Any) -> bytes:
    """A client frame (a model of `mosaic_contracts.live`)."""
    return _encoder.encode(frame.model_dump(mode="json"))
