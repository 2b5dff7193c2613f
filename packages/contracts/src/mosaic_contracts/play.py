"""Inputs of a person who plays: from a client's keys to the worker that steps the environment (ADR 0016).

Each input carries all keys that are held, so that one that is lost or repeated is put right by the next.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from mosaic_contracts.compat import Self, StrEnum
from mosaic_contracts.id_fields import RunIdField
from mosaic_contracts.models import PeerModel, UserModel
from mosaic_contracts.problems import Problem

MAX_KEYS = 32
"""Maximum number of keys in one input."""
MAX_INPUTS = 64
"""Maximum number of inputs in one request to a run."""
MAX_RATE = 1000.0
"""Maximum steps per second."""
PLAY_STATE = "play.state"
"""Type of the event with a `PlayStatus`, which a play records when one of its values has changed."""
PLAY_KEYS = "play.keys"
"""Type of the event with a `PlayKeys`, which a play records when its key map was changed."""
MAX_ENTRIES = 128
"""Maximum number of entries of a key map that a person sends."""
MAX_AXES = 16
"""Maximum number of axes in one input."""

KeyName = Annotated[str, StringConstraints(min_length=1, max_length=24, pattern=r"^[^\s+]+$")]
"""Name of a key in lower case: `a`, `7`, `left`, `space`, `enter`, `tab`, `escape`, `shift`, `ctrl`."""

KeyEntry = Annotated[str, StringConstraints(max_length=80)]
"""Entry of a key map: a key, keys joined with `+`, or nothing for the action without keys."""
Axis = Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)]


class PlayCommand(StrEnum):
    """What a person asks for besides keys."""

    PAUSE = "pause"
    RESUME = "resume"
    STEP = "step"
    """One step with the keys that are held, also while the play is paused."""
    RESET = "reset"
    RATE = "rate"
    TAKE = "take"
    """The person acts from now on."""
    GIVE = "give"
    """The policy acts from now on."""
    KEYS = "keys"
    """Another key map counts from the next step on."""


class Act(UserModel):
    """Message of a client on the WebSocket for frames: the keys that are held now. Answered by `Acted` or
    `ActRefused`."""

    op: Literal["act"] = "act"
    run_id: RunIdField
    env: Annotated[int, Field(ge=0, lt=2**31)] = 0
    number: Annotated[int, Field(ge=1, lt=2**53)]
    """Counts the inputs of this connection to this run. One that is not above the last is ignored."""
    keys: Annotated[list[KeyName], Field(max_length=MAX_KEYS)] = []
    """All keys that are held, in the order in which they were pressed. Empty: none, for example when the window
    lost the focus."""
    axes: Annotated[list[Axis], Field(max_length=MAX_AXES)] = []
    """Positions of a gamepad's axes: one for each part of a continuous action, in the order of the parts. Axes that
    are left out are in the middle, and all of them while the list is empty."""
    do: PlayCommand | None = None
    rate: Annotated[float, Field(gt=0, le=MAX_RATE, allow_inf_nan=False)] | None = None
    """Steps per second, of the command `rate`."""
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] | None = None
    """Seed of the command `reset`; None: the environment goes on with its generator."""
    key_map: Annotated[dict[KeyEntry, Any], Field(max_length=MAX_ENTRIES)] | None = None
    """Key map of the command `keys`, as in `PlayControls`; empty: the environment's own."""

    @model_validator(mode="after")
    def _check_command(self) -> Self:
        if (self.do is PlayCommand.RATE) != (self.rate is not None):
            raise ValueError("the command `rate` needs a rate, and no other command takes one")
        if self.seed is not None and self.do is not PlayCommand.RESET:
            raise ValueError("only the command `reset` takes a seed")
        if (self.do is PlayCommand.KEYS) != (self.key_map is not None):
            raise ValueError("the command `keys` needs a key_map, and no other command takes one")
        return self


class Acted(PeerModel):
    """Text message of the gateway: the run's worker has all inputs up to this number, but for those that it refused."""

    op: Literal["acted"] = "acted"
    run_id: str
    env: int
    number: int


class ActRefused(PeerModel):
    """Text message of the gateway: these inputs did not reach the run's worker, or the worker refused them."""

    op: Literal["refused"] = "refused"
    run_id: str
    env: int
    first: int
    """Number of the first of them."""
    number: int
    """Number of the last of them."""
    problem: Problem


class PlayInput(PeerModel):
    """One input on its way to a worker."""

    player: str = ""
    """The connection that it came from. Each counts its inputs for itself."""
    env: int = 0
    number: int
    keys: list[str] = []
    axes: list[float] = []
    do: PlayCommand | None = None
    rate: float | None = None
    seed: int | None = None
    key_map: dict[str, Any] | None = None


class PlayInputs(PeerModel):
    """Data of the request `act` to a run's shipper: inputs of one connection, in order."""

    inputs: list[PlayInput]


class RefusedInput(PeerModel):
    """An input that the worker refused, and why in words."""

    number: int
    why: str


class InputsTaken(PeerModel):
    """Answer to the request `act`. Inputs that are not named were taken."""

    refused: list[RefusedInput] = []


class AxisRange(PeerModel):
    """One part of a continuous action, as an axis moves it."""

    low: float
    """Its value at -1."""
    high: float
    """Its value at 1."""


class PlayKeys(PeerModel):
    """Data of a `play.keys` event: the key map that counts from now on."""

    keys: dict[str, Any]
    """As in `PlayControls`."""
    idle: Any = None


class PlayControls(PeerModel):
    """Key `play` of a config event: how a person acts in this run."""

    timing: Literal["turns", "real_time"]
    """`turns`: each press of a key is one step. `real_time`: the environment goes on by itself."""
    rate: float
    """Steps per second in real time."""
    keys: dict[str, Any]
    """The key map: an action by a key, or by keys joined with `+`."""
    idle: Any = None
    """Action without keys, in plain values; None: the last action is repeated."""
    meanings: dict[str, str] = {}
    """What each entry of the key map does, in a word, where that is known."""
    default_keys: dict[str, Any] = {}
    """The key map without the user's changes; empty: not known."""
    axes: list[AxisRange] = []
    """For each part of a continuous action what an axis moves; empty: axes do not act in this environment."""
    has_policy: bool = False
    """Whether a policy acts too: it acts where the person holds no key of the map, until the command `take`."""


class PlayStatus(PeerModel):
    """Data of a `play.state` event: what a play does now. A policy's play records it once a person has acted."""

    paused: bool
    waiting: bool
    """Whether the episode begins with the person's first key."""
    over: bool
    """Whether the episode has ended and the next one has not begun."""
    rate: float | None
    """Steps per second; None: each press of a key is one step."""
    input: int
    """Number of the newest input that the play knew."""
    actor: int = 1
    """Who is in control: 0 the policy, 1 the person. Each step says who chose its action."""
