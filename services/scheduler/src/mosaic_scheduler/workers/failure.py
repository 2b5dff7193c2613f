"""The words for a worker that ended without an answer: the exception of its traceback, and where the rest is."""

import re

from mosaic_scheduler.errors import WorkerFailed

_SHOWN_CHARACTERS = 600
_TRACEBACK = "Traceback (most recent call last):"


def worker_failure(verb: str, end: str, said: bytes) -> WorkerFailed:
    """The error for a worker that ended without an answer.

    Args:
        verb: what it was asked, e.g. `describe`.
        end: how it ended, e.g. `exit code 1`.
        said: what it printed on stderr.
    """
    output = said.decode(errors="replace").strip()
    return WorkerFailed(f"Its `{verb}` ended with {end}: {_cause(output)}", output)


def _cause(output: str) -> str:
    """The exception where the output ends with a traceback, else the end of the output."""
    _, is_traceback, rest = output.rpartition(_TRACEBACK)
    if not is_traceback:
        return output[-_SHOWN_CHARACTERS:]
    # Frames are indented; the exception, whose message may have several lines, is not.
    found = re.search(r"^\S.*", rest, re.MULTILINE | re.DOTALL)
    return (found[0] if found else rest.strip())[:_SHOWN_CHARACTERS]
