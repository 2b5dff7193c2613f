"""What the writer of an archive and the processes that make its other forms of events send each other, a line each."""

from typing import Any

import msgspec

from mosaic_contracts.compat import StrEnum


class FormKind(StrEnum):
    """A form of a run's events."""

    LINES = "lines"
    COLUMNS = "columns"


class FormOrder(msgspec.Struct, frozen=True, tag=True):
    """Line to a process: what it makes now."""

    kind: FormKind
    batches: str
    """File that has the stored batches (`mosaic_contracts.batch_file`)."""
    start: int
    """Where in that file they begin."""
    target: str
    """File or folder to make; it does not exist."""


class BatchesThere(msgspec.Struct, frozen=True, tag=True):
    """Line to a process that makes a form: how far the batches were written."""

    size: int
    """Bytes from their beginning."""
    spaces: dict[int, dict[str, Any]]
    """Spaces of attempts that were not sent yet."""
    is_all: bool = False
    """No more will follow."""


class FormReport(msgspec.Struct, frozen=True):
    """A line from a process."""

    done: int = 0
    """Number of events in the form so far."""
    is_made: bool = False
    """It is complete, and the process waits for another order."""
    invalid: str | None = None
    """Why the events cannot be read: the last line."""
    errno: int | None = None
    """Error of the operating system that ended the making: the last line."""


def encode_line(message: FormOrder | BatchesThere | FormReport) -> bytes:
    """Encode a message as one line."""
    return msgspec.json.encode(message) + b"\n"


decode_message = msgspec.json.Decoder(FormOrder | BatchesThere).decode
decode_report = msgspec.json.Decoder(FormReport).decode
