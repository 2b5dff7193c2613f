"""What happened in one tick of one run, encoded once for all clients that want the same."""

from collections.abc import Iterator, Mapping
from typing import Any

from mosaic_contracts.builtin_values import event_to_builtin
from mosaic_contracts.cursor import Cursor, format_cursor
from mosaic_gateway.live.sequence import Piece
from mosaic_gateway.live.wire_format import Payload, ToBuiltin, TypeSelection, WireFormat

FRAME_EVENTS = 5000
FRAME_BYTES = 4 * 2**20
"""Limit of raw records. As JSON an observation takes up to four times its bytes; a client must take 64 MiB."""

Group = tuple[frozenset[str] | None, str]


def encode_pieces(
    pieces: list[Piece], start: Cursor, wanted: TypeSelection, wire: WireFormat, plain: ToBuiltin
) -> tuple[Payload, ...]:
    """Frames for `pieces`, which follow `start`; none for what is not wanted."""
    cursor = dict(start)
    payloads = []
    for part in _frames(pieces):
        cursor[part[-1].key] = part[-1].end
        payload = wire.live(part, wanted, plain, format_cursor(cursor))
        if payload is not None:
            payloads.append(payload)
    return tuple(payloads)


def _frames(pieces: list[Piece]) -> Iterator[list[Piece]]:
    """Cut into runs of pieces of one source, each not too large for one frame."""
    part: list[Piece] = []
    events = raw_bytes = 0
    for piece in pieces:
        events += piece.end - piece.begin + 1
        raw_bytes += piece.raw_bytes
        if part and (piece.key != part[0].key or events > FRAME_EVENTS or raw_bytes > FRAME_BYTES):
            yield part
            part, events, raw_bytes = [], piece.end - piece.begin + 1, piece.raw_bytes
        part.append(piece)
    if part:
        yield part


class Tick:
    """Pieces from `start` to `end`."""

    def __init__(self, pieces: list[Piece], start: Cursor, end: Cursor, plain: ToBuiltin) -> None:
        self.start = start
        self.end = end
        self._pieces = pieces
        self._plain = plain
        self._encoded: dict[Group, tuple[Payload, ...]] = {}

    def payloads(
        self, wanted: TypeSelection, wire: WireFormat, cursor: Cursor
    ) -> tuple[Payload, ...]:
        """Frames for a reader at `cursor`: the shared ones, or its own when it is ahead already."""
        pieces = self._pieces
        if any(seq > self.start.get(key, 0) for key, seq in cursor.items()):
            rest = [piece.after(cursor.get(piece.key, 0)) for piece in pieces]
            own = [piece for piece in rest if piece is not None]
            return encode_pieces(own, cursor, wanted, wire, self._plain)
        group = (wanted.types, wire.name)
        if group not in self._encoded:
            self._encoded[group] = encode_pieces(pieces, self.start, wanted, wire, self._plain)
        return self._encoded[group]


class Spaces:
    """Action and observation spaces of a run's attempts, learnt from its config events."""

    def __init__(self) -> None:
        self._of_attempt: dict[int, Mapping[str, Any]] = {}

    def learn(self, attempt: int, config: Mapping[str, Any]) -> None:
        """Take the spaces of a config event's data."""
        spaces = config.get("spaces")
        if isinstance(spaces, Mapping):
            self._of_attempt[attempt] = spaces

    def to_builtin(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return the event without raw bytes: actions and observations become lists by the spaces."""
        return event_to_builtin(event, self._of_attempt.get(event["attempt"]))
