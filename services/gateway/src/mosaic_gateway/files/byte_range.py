"""The `Range` header: one range of bytes of a file (RFC 9110). What is no such range is no range at all."""

import re
from typing import NamedTuple

from mosaic_contracts.problems import Problem, ProblemCode, ProblemError

_ONE_RANGE = re.compile(r"bytes=\s*([0-9]{1,18})?\s*-\s*([0-9]{1,18})?", re.IGNORECASE | re.ASCII)


class ByteRange(NamedTuple):
    """Bytes from `start` up to `end`, which is not among them."""

    start: int
    end: int


class RangeRefused(ProblemError):
    """The file has none of the bytes that are asked for."""

    def __init__(self, asked: str, size: int) -> None:
        super().__init__(
            Problem(
                code=ProblemCode.RANGE_INVALID,
                title="The file has no such range",
                detail=f"Asked for {asked[:60]!r}; the file has {size} bytes.",
            )
        )
        self.size = size


def parse_range(header: str, size: int) -> ByteRange | None:
    """The range of a file of `size` bytes that `header` asks for.

    None, and so the whole file, for several ranges, other units and what cannot be read.

    Raises:
        RangeRefused: there is no such byte.
    """
    match = _ONE_RANGE.fullmatch(header.strip())
    if match is None or not any(match.groups()):
        return None
    first, last = match.groups()
    if first is None:
        start, end = max(0, size - int(last)), size
    else:
        start, end = int(first), min(size, int(last) + 1) if last else size
        if last and int(last) < start:
            return None
    if start >= end:
        raise RangeRefused(header, size)
    return ByteRange(start, end)
