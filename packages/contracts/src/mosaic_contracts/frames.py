"""Frames: pictures of an environment, on their way from a worker to its viewers.

A worker encodes a frame once. Shipper, broker and gateway pass its bytes on and read no more of them than
`FrameHead`. ADR 0015 describes the way.
"""

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from pydantic import Field

from mosaic_contracts.id_fields import RunIdField
from mosaic_contracts.models import PeerModel, UserModel
from mosaic_contracts.play import Act
from mosaic_contracts.problems import Problem

T = TypeVar("T")

CHANNEL = "frames"
"""Last part of the subject `subjects.live(run_id, CHANNEL)`, on which a run's shipper publishes live frames."""
MAX_FRAME_BYTES = 160 * 1024
"""Maximum size of one encoded frame, so that it fits one packet of a local socket. Larger pictures are scaled down."""
MAX_PAGE_FRAMES = 64
MAX_PAGE_BYTES = 4 * 2**20
MAX_FPS = 30.0
"""Frames per second of a client that names no rate."""
FASTEST_FPS = 120.0
"""Maximum frames per second, for a client that plays."""
LEASE_S = 5.0
"""Seconds that one request for live frames holds. The gateway repeats it while somebody watches."""

FRAMES_HEADER = "Mosaic-Frames"
"""Header of a reply that is an `EpisodeFrames`; without it the reply is a `services.Reply`."""
SUBPROTOCOL = "mosaic.frames.v1"
"""Subprotocol of the WebSocket `http_api.FRAMES_PATH`: JSON text from the client; `EnvironmentFrame` (msgpack) or JSON
text from the gateway."""
MAX_WATCHED_ENVS = 16
"""Maximum number of sub-environments, over all its runs, that one client watches."""


class FrameHead(msgspec.Struct):
    """The fields of a frame that shipper, broker and gateway read.

    Attributes:
        run_id: the run that sent it.
        env: number of the sub-environment.
        number: count of frames of this sub-environment, or the step within the episode in a replay.
    """

    run_id: str
    env: int
    number: int


class EnvironmentFrame(msgspec.Struct, omit_defaults=True):
    """One picture of an environment and what belongs to it.

    Attributes:
        run_id: the run that sent it.
        env: number of the sub-environment.
        number: count of frames of this sub-environment, or the step within the episode in a replay.
        episode: number of the episode.
        step: number of the step that led here; 0: the reset.
        t_us: wall time of the drawing, microseconds since the epoch.
        action: of that step, in plain values; None at the reset.
        reward: of that step.
        episode_return: sum of the rewards up to here.
        flags: bits of `wire.StepFlag`.
        actor: who chose the action (`wire.Actor`).
        encoding: `zstd` (raw bytes, compressed), `jpeg`, or `none`: there is no picture.
        width: pixels of the picture as it is sent.
        height: pixels of the picture as it is sent.
        channels: 1 (grey) or 3 (red, green, blue), 8 bits each, rows from the top.
        full_width: pixels before it was scaled down; 0: as `width`.
        full_height: pixels before it was scaled down; 0: as `height`.
        data: the encoded picture.
        problem: why there is no picture, in words; empty: there is one.
        state: number of the state, of an environment with a discrete observation.
        values: the observation, of an environment without a picture whose observation is a short vector.
        input: number of the newest input of a person that this step knew; 0: none.
        is_exact: False in a replay from the first step on that differs from the recorded one.
    """

    run_id: str
    env: int
    number: int
    episode: int
    step: int
    t_us: int
    action: Any = None
    reward: float = 0.0
    episode_return: float = 0.0
    flags: int = 0
    actor: int = 0
    encoding: str = "none"
    width: int = 0
    height: int = 0
    channels: int = 3
    full_width: int = 0
    full_height: int = 0
    data: bytes = b""
    problem: str = ""
    state: int | None = None
    values: list[float] | None = None
    is_exact: bool = True
    input: int = 0


class EpisodeFrames(msgspec.Struct):
    """Frames of a replay, sent as MessagePack.

    Attributes:
        frames: encoded `EnvironmentFrame`s, in the order that was asked for.
        next: step to ask for next; None: nothing is left of the range.
        last: number of the episode's last recorded step.
    """

    frames: list[bytes]
    next: int | None
    last: int


encode_frame = msgspec.msgpack.Encoder().encode
encode_page = msgspec.msgpack.Encoder().encode
_frame_decoder = msgspec.msgpack.Decoder(EnvironmentFrame)
_head_decoder = msgspec.msgpack.Decoder(FrameHead)
_page_decoder = msgspec.msgpack.Decoder(EpisodeFrames)


def decode_frame(data: bytes) -> EnvironmentFrame:
    """Decode one frame.

    Args:
        data: msgpack of an `EnvironmentFrame`.

    Returns:
        The frame.

    Raises:
        ValueError: not a frame of this version.
    """
    return _decode(_frame_decoder, data)


def decode_head(data: bytes) -> FrameHead:
    """Decode the head of a frame; its picture is not read.

    Args:
        data: msgpack of an `EnvironmentFrame`.

    Returns:
        Its head.

    Raises:
        ValueError: not a frame of this version.
    """
    return _decode(_head_decoder, data)


def decode_page(body: bytes) -> EpisodeFrames:
    """Decode a page of frames.

    Args:
        body: the answer's body, msgpack.

    Returns:
        The page.

    Raises:
        ValueError: not a page of this version.
    """
    return _decode(_page_decoder, body)


def _decode(decoder: msgspec.msgpack.Decoder[T], data: bytes) -> T:
    """Decode with `decoder`; whatever is wrong with the bytes is a ValueError."""
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(str(error)) from error


class WatchFrames(UserModel):
    """Message of a client: send live frames of one sub-environment of a run. Sent again for the same sub-environment,
    it replaces what was said."""

    op: Literal["watch"] = "watch"
    run_id: RunIdField
    env: Annotated[int, Field(ge=0, lt=2**31)] = 0
    fps: Annotated[float, Field(gt=0, le=FASTEST_FPS, allow_inf_nan=False)] = MAX_FPS
    """Maximum frames per second."""
    smooth: bool = False
    """Whether drawing may slow the run down. False: it takes at most a sixtieth of the trainer's time, so fewer
    frames come of an environment that draws slowly."""


class UnwatchFrames(UserModel):
    """Message of a client: send no more frames of this run."""

    op: Literal["unwatch"] = "unwatch"
    run_id: RunIdField


FramesRequest = Annotated[WatchFrames | UnwatchFrames | Act, Field(discriminator="op")]


class FramesProblem(PeerModel):
    """Text message of the gateway: frames of this run do not come now, and why. It goes on trying."""

    op: Literal["problem"] = "problem"
    run_id: str | None = None
    problem: Problem


class FramesAsked(PeerModel):
    """Text message of the gateway: the run's worker was asked and has promised frames."""

    op: Literal["watching"] = "watching"
    run_id: str
    env: int


class WatchedEnv(PeerModel):
    """What the viewers of one sub-environment want together."""

    env: int
    fps: float
    smooth: bool = False


class FramesWanted(PeerModel):
    """Data of the request `frames` to a run's shipper: everything that is watched from now on."""

    envs: list[WatchedEnv]


class StepRange(PeerModel):
    """Data of the request `show` to a replay's shipper: steps to draw."""

    first: int = Field(ge=0)
    last: int = Field(ge=0)
    every: int = Field(default=1, ge=1)
