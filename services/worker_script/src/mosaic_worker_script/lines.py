"""The lines of the spool, as `mosaic_hook` writes them. They are validated here, where they enter."""

from typing import Annotated, Any

import msgspec

from mosaic_contracts.wire import INTEGER_LIMIT

_Count = Annotated[int, msgspec.Meta(ge=0, lt=INTEGER_LIMIT)]
_StepNumber = Annotated[int, msgspec.Meta(ge=1, lt=INTEGER_LIMIT)]
_Hash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]
_Flags = Annotated[int, msgspec.Meta(ge=0, le=3)]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]
_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]


class _Line(msgspec.Struct, tag_field="type"):
    """A line; keys that are not known here are left out."""


class ProcessLine(_Line, tag="process"):
    """A Python process of the script is listened to."""

    pid: _Count
    parent: _Count
    python: _Text
    executable: str = ""
    path: list[str] = []
    """Where its Python looks for modules; empty: an older hook."""


class LibraryLine(_Line, tag="heard"):
    """A library is used that is listened to."""

    library: _Text
    version: str | None = None


class DeafLine(_Line, tag="deaf"):
    """Something could not be listened to."""

    library: _Text
    message: _Text


class EnvironmentLine(_Line, tag="environment"):
    """An environment was made."""

    env: _Count
    id: _Text
    spaces: dict[str, dict[str, Any]]
    arguments: dict[str, Any] = {}
    max_episode_steps: _StepNumber | None = None


class StartLine(_Line, tag="start"):
    """An episode whose steps are recorded begins."""

    env: _Count
    episode: _Count
    hash: _Hash
    reset: dict[str, Any]
    observation: Any = None


class ActLine(_Line, tag="step"):
    """One environment step. `flags`: 1 for terminated, plus 2 for truncated."""

    env: _Count
    episode: _Count
    step: _StepNumber
    action: Any
    reward: float
    flags: _Flags
    hash: _Hash
    observation: Any = None


class EndLine(_Line, tag="episode"):
    """An episode has ended. `steps`: environment steps of its process so far."""

    env: _Count
    episode: _Count
    episode_return: float = msgspec.field(name="return")
    length: _Count
    flags: _Flags
    duration_s: Annotated[float, msgspec.Meta(ge=0)]
    steps: _Count


class StepsLine(_Line, tag="steps"):
    """Environment steps of a process so far."""

    steps: _Count


class ValueLine(_Line, tag="metric"):
    """One value of a metric."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
    value: float
    step: _Count | None = None


class BarLine(_Line, tag="progress"):
    """What the outermost progress bar shows. `total` None: no bar counts any more."""

    done: _Count
    total: _Count | None


class FileLine(_Line, tag="file"):
    """The script has written a file with what was learned."""

    path: _Text
    kind: _Text
    steps: _Count = 0


class TextLine(_Line, tag="text"):
    """A text of a step."""

    name: _Name
    text: str
    step: _Count | None = None
    characters: _Count = 0
    """Length of the text before it was cut."""


class HistogramLine(_Line, tag="histogram"):
    """Counts of values in bins."""

    name: _Name
    edges: list[float]
    counts: list[float]
    step: _Count | None = None


class ImageLine(_Line, tag="image"):
    """An image: the bytes of its file, or its pixels, row by row, packed by zlib. Both are in Base64."""

    name: _Name
    step: _Count | None = None
    file: str = ""
    pixels: str = ""
    width: _Count = 0
    height: _Count = 0
    channels: Annotated[int, msgspec.Meta(ge=0, le=4)] = 0
    caption: str = ""


class LeftOutLine(_Line, tag="left_out"):
    """A text, histogram or image was too large to be sent."""

    message: _Text


SpoolLine = (
    ProcessLine
    | LibraryLine
    | DeafLine
    | EnvironmentLine
    | StartLine
    | ActLine
    | EndLine
    | StepsLine
    | ValueLine
    | BarLine
    | FileLine
    | TextLine
    | HistogramLine
    | ImageLine
    | LeftOutLine
)
_decode: msgspec.json.Decoder[SpoolLine] = msgspec.json.Decoder(SpoolLine)


def read_line(line: bytes) -> SpoolLine:
    """Read one line of the spool.

    Raises:
        ValueError: it is no line of the spool (`msgspec.DecodeError` is one).
    """
    try:
        return _decode.decode(line)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        # msgspec reads no bare NaN and Infinity, which Python's own JSON writes.
        import json

        found: SpoolLine = msgspec.convert(json.loads(line), SpoolLine)
        return found
