"""What a run asks of the scheduler over the broker when its folder is on another machine.

Each verb has the subject `mosaic.v1.node.<run_id>.<verb>`, on which only the run itself may publish. Answers are a
`mosaic_contracts.services.Reply`, but for a chunk of a file, which comes as bytes with the header CHUNK_HEADER.
"""

from pathlib import PurePosixPath
from typing import Annotated

from pydantic import Field

from mosaic_contracts.compat import StrEnum
from mosaic_contracts.launch import ExitReport
from mosaic_contracts.models import PeerModel

CHUNK_BYTES = 2**20
"""Bytes of one message with a part of a file."""
CHUNK_HEADER = "Mosaic-Chunk"
"""Header of an answer that is a part of a file: the size of the whole file in bytes."""
WRITE_HEADER = "Mosaic-Write"
"""Header of a message with a part of a file: a FilePart as JSON."""
BEGUN_FILE = "control/begun.json"
"""A Begun. In the stack's folder it is the grant, which exists once; on the node it is what the runner was granted."""
NOT_SHIPPED = ("control", "outbox", "inputs", "spec.json")
"""Top of a run's folder that never comes back from a node."""
LOGS = "logs/"
"""Beginning of the paths of logs, which an attempt adds to what those before it left in the stack's folder."""
EARLIER_LOGS = "earlier_logs"
"""Folder on a node with the logs of attempts before the last one there, in a folder for each time."""
_MAX_PARTS = 16
_MAX_CHARS = 1024


class NodeVerb(StrEnum):
    """Last part of the subject."""

    BEGIN = "begin"
    """BeginRequest -> BeginAnswer. Granted to one runner of an attempt, once."""
    READ = "read"
    """ReadRequest -> bytes of a file that the run begins with."""
    WRITE = "write"
    """Bytes with a FilePart in WRITE_HEADER -> WriteAnswer."""
    EXIT = "exit"
    """ExitNotice -> empty result."""
    RENEW = "renew"
    """NodeRequest -> RunCredentials."""


class NodeRequest(PeerModel):
    """What every request names."""

    attempt: int
    claim: Annotated[str, Field(max_length=64)] = ""
    """Unguessable text of the runner that was granted the attempt. Empty where the folder is shared."""


class BeginRequest(NodeRequest):
    """A runner is about to start the worker."""

    nonce: str
    """As in `launch.json`: the runner was given this attempt."""
    node: Annotated[str, Field(max_length=255)] = ""
    """Name of its machine."""


class NodeFile(PeerModel):
    """A file that the run begins with: a secret, a login, a checkpoint of another run."""

    path: str
    """Below the run's folder."""
    bytes: int
    mode: int


class BeginAnswer(PeerModel):
    """The attempt is granted to the asking runner."""

    files: list[NodeFile] = Field(default_factory=list)


class Begun(PeerModel):
    """Content of BEGUN_FILE."""

    attempt: int
    claim: str
    node: str = ""
    begun_at: float = 0.0
    """Wall clock, seconds since the epoch."""
    log_bytes: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    """In the stack's folder: bytes that the logs of earlier attempts had at the grant, by path."""


class ReadRequest(NodeRequest):
    """A part of a file that the run begins with."""

    path: str
    offset: Annotated[int, Field(ge=0)] = 0


class FilePart(NodeRequest):
    """Which part of which file comes with the message."""

    path: str
    """Below the run's folder, with `/`."""
    offset: Annotated[int, Field(ge=0)] = 0
    total: Annotated[int, Field(ge=0)] | None = None
    """Size of the whole file; None: bytes are added to a file that grows, such as a log."""
    mtime_ns: int = 0
    transfer: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")] | None = None
    """Parts of one version of a file have the same; with no part yet, the answer says whether it is needed."""
    sha256: str | None = None
    """With the last part: digest of the whole file, in hexadecimal."""


class WriteAnswer(PeerModel):
    """How much of the file the stack has."""

    bytes: int


class ExitNotice(NodeRequest):
    """The runner's report."""

    report: ExitReport


class RunCredentials(PeerModel):
    """New credentials of the run."""

    creds: str
    """Content of a creds file."""


def is_shipped(path: str) -> bool:
    """Whether a file with this path below the run's folder may come from a node.

    Never one that leaves the folder, nor one whose name is no UTF-8, which no message can say.
    """
    if not _is_utf8(path):
        return False
    pure = PurePosixPath(path)
    parts = path.split("/")
    if len(path) > _MAX_CHARS or len(parts) > _MAX_PARTS or str(pure) != path or pure.is_absolute():
        return False
    is_plain = all(part not in ("", ".", "..") and "\0" not in part for part in parts)
    return is_plain and parts[0] not in NOT_SHIPPED


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
