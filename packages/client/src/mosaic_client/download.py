"""One download over any number of connections: which bytes are asked for, and what of an answer is kept.

No network here; the two clients drive it. It goes on where a connection broke only while the file is the same one,
by its `ETag` (RFC 9110, If-Range); a file that changed meanwhile is fetched from its start.
"""

import os
import re
from pathlib import Path
from types import TracebackType

import httpx

from mosaic_base.output_file import output_file
from mosaic_client.call import read_problem
from mosaic_client.errors import AnswerInvalid, problem_error
from mosaic_client.faults import Persistence
from mosaic_client.full_http import answer_of, fault_of
from mosaic_contracts.compat import Self

_RANGE = re.compile(r"bytes ([0-9]+)-([0-9]+)/([0-9]+)")


class ArtifactDownload:
    """Writes a download to a file next to `target`, and renames it when it is complete."""

    def __init__(self, target: Path) -> None:
        self._target = target = output_file(target)
        self._part = target.with_name(f".{target.name}.{os.getpid()}.part")
        self._file = self._part.open("wb")
        self._tag: str | None = None
        self._persistence: Persistence | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        self._part.unlink(missing_ok=True)

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the next request."""
        # Not compressed on the way: a range is one of the bytes that are counted here.
        plain = {"Accept-Encoding": "identity"}
        if self._tag is None or not self._file.tell():
            return plain
        return plain | {"Range": f"bytes={self._file.tell()}-", "If-Range": self._tag}

    def begin(self, response: httpx.Response) -> None:
        """Read the head of a successful answer.

        Raises:
            AnswerInvalid: not what was asked for.
        """
        start = 0
        if response.status_code == 206:
            found = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
            start = int(found[1]) if found else -1
            if start != self._file.tell():
                raise AnswerInvalid(
                    f"{response.url} sent a different part of the file than requested"
                )
        elif response.status_code != 200:
            raise AnswerInvalid(f"{response.url} answered {response.status_code} and no file")
        self._file.seek(start)
        self._file.truncate()
        tag = response.headers.get("ETag", "")
        self._tag = tag if tag.startswith('"') else None  # a weak one names no exact bytes

    def write(self, chunk: bytes) -> None:
        """Store the next bytes and restart the count of attempts."""
        self._file.write(chunk)
        self._persistence = None

    def finish(self) -> int:
        """Rename the complete file and return its size in bytes."""
        size = self._file.tell()
        self._file.close()
        self._part.replace(self._target)
        return size

    def delay(self, error: httpx.TransportError, fresh: Persistence, has_answered: bool) -> float:
        """Seconds to wait before the next connection; `fresh` is for the first failure after a progress.

        Raises:
            StackUnreachable: nothing comes any more.
        """
        self._persistence = self._persistence or fresh
        return self._persistence.delay(fault_of(error), has_answered)


def refused(response: httpx.Response) -> Exception:
    """Return the error for an answer with an error status, whose body was read."""
    return problem_error(read_problem(answer_of(response)))
