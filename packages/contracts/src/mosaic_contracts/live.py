"""The WebSocket `/api/v1/live`: what clients and gateway say to each other.

Two subprotocols carry the same frames: `mosaic.json.v1` (text) and `mosaic.msgpack.v1` (binary; there step and
metric events come as columns). The token goes in the `Authorization` header or in the subprotocol list as
`mosaic.token.<token>`, which is how browsers and Qt can send one.

A subscription is answered by one `snapshot`, then `events` from the cursor (history from the store, then live,
no gap and no double at the joint), `run` when the record changes, `missed` when this client was too slow, and `end`
once the run is final and all of its stored events were sent.

`run` frames are not part of the order of events. The gateway sends them as soon as a state is known, before events that
wait, and a client should show them before events that it has not read yet. An `events` frame may have no events: then
the run has come to its cursor, and nothing up to there was asked for.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from mosaic_contracts.id_fields import RunIdField
from mosaic_contracts.media_words import ALL_EXTRAS as ALL_EXTRAS
from mosaic_contracts.models import PeerModel, UserModel
from mosaic_contracts.problems import Problem
from mosaic_contracts.runs import RunView

SUBPROTOCOL_JSON = "mosaic.json.v1"
SUBPROTOCOL_MSGPACK = "mosaic.msgpack.v1"
TOKEN_SUBPROTOCOL_PREFIX = "mosaic.token."
TICK_S = 0.05

DEFAULT_TYPES = (
    "config",
    "episode",
    "metric",
    "checkpoint",
    "artifact",
    "artifact_pruned",
    "log",
    "lifecycle",
    ALL_EXTRAS,
)


class Subscribe(UserModel):
    """Message of a client: follow one run."""

    op: Literal["subscribe"] = "subscribe"
    run_id: RunIdField
    cursor: str | None = None
    """Where to go on (see `mosaic_contracts.cursor`); None: only what happens from now; `""`: from the start."""
    types: list[str] | None = None
    """Event types; None: all but step and episode_start; `["*"]`: everything; `"*.*"` among them: all extras
    but `media.*`."""


class Unsubscribe(UserModel):
    """Message of a client: stop following one run."""

    op: Literal["unsubscribe"] = "unsubscribe"
    run_id: RunIdField


class SubscribeRuns(UserModel):
    """Message of a client: follow the run list. Each change of a run then sends a `run` frame."""

    op: Literal["subscribe_runs"] = "subscribe_runs"


class Ping(UserModel):
    """Message of a client, answered with `pong`."""

    op: Literal["ping"] = "ping"


ClientFrame = Annotated[Subscribe | Unsubscribe | SubscribeRuns | Ping, Field(discriminator="op")]


class Hello(PeerModel):
    """First message of the gateway on a connection."""

    op: Literal["hello"] = "hello"
    version: str
    tick_s: float = TICK_S


class Snapshot(PeerModel):
    """State of the run when following began."""

    op: Literal["snapshot"] = "snapshot"
    run: RunView
    cursor: str


class Events(PeerModel):
    """Events of a run, in order for each attempt and source."""

    op: Literal["events"] = "events"
    run_id: str
    events: list[dict[str, Any]]
    columns: dict[str, dict[str, Any]] = {}
    """Steps and metrics as columns (msgpack only): `{"step": {"seq": [...], ...}, "metric": {...}}`, keys as in
    `mosaic_contracts.wire`."""
    cursor: str
    """Position after these events."""


class RunChanged(PeerModel):
    """The run's record or progress changed."""

    op: Literal["run"] = "run"
    run: RunView


class Missed(PeerModel):
    """The client was too slow, so this many events were not sent. Read them from the store from `from_cursor` on."""

    op: Literal["missed"] = "missed"
    run_id: str
    count: int
    from_cursor: str
    to_cursor: str


class Ended(PeerModel):
    """The run is final, and every stored event was sent."""

    op: Literal["end"] = "end"
    run_id: str
    cursor: str


class Pong(PeerModel):
    """Answer to `ping`."""

    op: Literal["pong"] = "pong"


class ProblemFrame(PeerModel):
    """A request on this connection was refused. The connection stays open."""

    op: Literal["problem"] = "problem"
    problem: Problem
    run_id: str | None = None


ServerFrame = Annotated[
    Hello | Snapshot | Events | RunChanged | Missed | Ended | Pong | ProblemFrame,
    Field(discriminator="op"),
]
