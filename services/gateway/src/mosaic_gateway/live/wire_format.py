"""The two forms in which frames leave: JSON text, and msgpack with steps and metrics as columns."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import msgspec

from mosaic_contracts.live import ALL_EXTRAS, SUBPROTOCOL_JSON, SUBPROTOCOL_MSGPACK
from mosaic_contracts.media_words import MEDIA_FAMILY
from mosaic_contracts.models import PeerModel
from mosaic_contracts.wire import TYPE_OF, Metric, Step, event_type, to_event
from mosaic_gateway.live.columns import (
    METRIC,
    STEP,
    Part,
    event_columns,
    record_columns,
    step_columns,
)
from mosaic_gateway.live.sequence import Piece
from mosaic_gateway.strict_json import (
    NESTED_TOO_DEEPLY,
    JsonInvalid,
    check_nesting,
    read_json,
    write_json,
)

_OWN_TYPES = frozenset(TYPE_OF.values())
"""All others are namespaced extras."""
_IN_COLUMNS = (Step, Metric)

Payload = str | bytes
Event = dict[str, Any]
ToBuiltin = Callable[[Event], Event]
"""Turns raw bytes of actions and observations into lists, by the run's spaces."""


class TypeSelection:
    """Which event types a reader wants."""

    def __init__(self, types: Iterable[str] | None) -> None:
        """`types` None: all."""
        self.types = None if types is None else frozenset(types)

    def __contains__(self, name: str) -> bool:
        if self.types is None or name in self.types:
            return True
        is_extra = name not in _OWN_TYPES and not name.startswith(MEDIA_FAMILY)
        return is_extra and ALL_EXTRAS in self.types

    @property
    def names(self) -> list[str] | None:
        """As the store takes it."""
        return None if self.types is None else sorted(self.types)

    @property
    def has_steps(self) -> bool:
        """Whether the reader takes the bulk of a run's events."""
        return "step" in self


class WireFormat(Protocol):
    """One subprotocol."""

    name: str

    def frame(self, model: PeerModel) -> Payload:
        """Any frame but `events`."""
        ...

    def events(self, run_id: str, events: list[Event], cursor: str) -> Payload:
        """Events from the store."""
        ...

    def live(
        self, pieces: list[Piece], wanted: TypeSelection, plain: ToBuiltin, cursor: str
    ) -> Payload | None:
        """Events of pieces of one source; None when none of them is wanted."""
        ...

    def read(self, payload: Payload) -> Any:
        """What a client sent. Raises ValueError."""
        ...


class JsonFormat:
    """`mosaic.json.v1`."""

    name = SUBPROTOCOL_JSON

    def frame(self, model: PeerModel) -> Payload:
        """See `WireFormat`."""
        return write_json(model).decode()

    def events(self, run_id: str, events: list[Event], cursor: str) -> Payload:
        """See `WireFormat`."""
        frame = {"op": "events", "run_id": run_id, "events": events, "columns": {}}
        return write_json({**frame, "cursor": cursor}).decode()

    def live(
        self, pieces: list[Piece], wanted: TypeSelection, plain: ToBuiltin, cursor: str
    ) -> Payload | None:
        """See `WireFormat`."""
        events = [
            plain(to_event(piece.batch, record))
            for piece in pieces
            for record in piece.records
            if event_type(record) in wanted
        ]
        return self.events(pieces[0].batch.run_id, events, cursor) if events else None

    def read(self, payload: Payload) -> Any:
        """See `WireFormat`."""
        return _read_text(payload)


class MsgpackFormat:
    """`mosaic.msgpack.v1`: columns are lists of equal length, next to the scalars `attempt` and `source`."""

    name = SUBPROTOCOL_MSGPACK

    def __init__(self) -> None:
        self._encode = msgspec.msgpack.Encoder().encode

    def frame(self, model: PeerModel) -> Payload:
        """See `WireFormat`."""
        return self._encode(model.model_dump(mode="json", by_alias=True))

    def events(self, run_id: str, events: list[Event], cursor: str) -> Payload:
        """See `WireFormat`. A page of the store may hold several sources; columns hold the first one's."""
        head = (events[0]["attempt"], events[0]["source"]) if events else (0, "")
        bulk: dict[str, list[Event]] = {"step": [], "metric": []}
        others: list[Event] = []
        for event in events:
            fits = event["type"] in bulk and (event["attempt"], event["source"]) == head
            (bulk[event["type"]] if fits else others).append(event)
        tables = {
            "step": event_columns(bulk["step"], STEP),
            "metric": event_columns(bulk["metric"], METRIC),
        }
        return self._frame(run_id, others, _present(tables, *head), cursor)

    def live(
        self, pieces: list[Piece], wanted: TypeSelection, plain: ToBuiltin, cursor: str
    ) -> Payload | None:
        """See `WireFormat`."""
        steps: list[Part] = []
        metrics: list[Part] = []
        others: list[Event] = []
        for piece in pieces:
            t0_us, records = piece.batch.t0_us, piece.records
            if "step" in wanted and (found := [r for r in records if type(r) is Step]):
                steps.append((t0_us, found))
            if "metric" in wanted and (scalars := [r for r in records if type(r) is Metric]):
                metrics.append((t0_us, scalars))
            others += [
                plain(to_event(piece.batch, record))
                for record in records
                if type(record) not in _IN_COLUMNS and event_type(record) in wanted
            ]
        if not (steps or metrics or others):
            return None
        first = pieces[0].batch
        tables = {
            "step": step_columns(first, steps, plain),
            "metric": record_columns(metrics, METRIC),
        }
        columns = _present(tables, first.attempt, first.source)
        return self._frame(first.run_id, others, columns, cursor)

    def read(self, payload: Payload) -> Any:
        """See `WireFormat`."""
        return _read_text(payload) if isinstance(payload, str) else _read_msgpack(payload)

    def _frame(
        self, run_id: str, events: list[Event], columns: dict[str, Any], cursor: str
    ) -> bytes:
        frame = {"op": "events", "run_id": run_id, "events": events, "columns": columns}
        return self._encode({**frame, "cursor": cursor})


FORMATS: dict[str, WireFormat] = {f.name: f for f in (JsonFormat(), MsgpackFormat())}


def _read_text(payload: Payload) -> Any:
    return read_json(payload if isinstance(payload, bytes) else payload.encode("utf-8", "replace"))


def _read_msgpack(payload: bytes) -> Any:
    try:
        value = msgspec.msgpack.decode(payload)
    except RecursionError as error:
        raise JsonInvalid(NESTED_TOO_DEEPLY) from error
    check_nesting(value)
    return value


def _present(tables: dict[str, dict[str, Any]], attempt: int, source: str) -> dict[str, Any]:
    return {
        kind: {"attempt": attempt, "source": source, **table}
        for kind, table in tables.items()
        if table["seq"]
    }
