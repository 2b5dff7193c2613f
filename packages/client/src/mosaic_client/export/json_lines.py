"""Writes events as JSON lines: strict JSON, non-finite numbers as the words NaN, Infinity and -Infinity."""

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import msgspec
from pydantic_core import to_json

from mosaic_client.export.stored import StoredPart
from mosaic_contracts.builtin_values import events_to_builtin
from mosaic_contracts.wire import to_events

_encode_lines = msgspec.json.Encoder().encode_lines


def write_json_lines(parts: Iterable[StoredPart], file: BinaryIO) -> Iterator[int]:
    """Write one event a line. Yields the number of events written so far, after each part."""
    count = 0
    for part, records, spaces in parts:
        events = to_events(part.batch, records)
        events_to_builtin(events, spaces)
        file.write(json_lines(events))
        count += len(events)
        yield count


def json_lines(events: list[dict[str, Any]]) -> bytes:
    """Encode plain events, one a line."""
    lines: bytes = _encode_lines(events)
    # msgspec writes null for a number that is not finite. There was none if no more nulls were written than events have
    # empty fields; else the lines in which there are more are written again, with words.
    if lines.count(b"null") == sum(map(_empty_fields, events)):
        return lines
    return b"".join(
        line + b"\n"
        if line.count(b"null") == _empty_fields(event)
        else to_json(event, inf_nan_mode="strings") + b"\n"
        for event, line in zip(events, lines.split(b"\n"), strict=False)
    )


def _empty_fields(event: dict[str, Any]) -> int:
    if event["type"] == "step":
        return (event["observation"] is None) + (event["action"] is None)
    return list(event.values()).count(None)
