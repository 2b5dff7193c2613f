"""`python -m mosaic_cli.file_jobs`: reads a `FileJobOrder` on stdin and reports on stdout."""

import os
import signal
import sys
import time
from types import FrameType
from typing import NoReturn

from mosaic_base.imports import large_imports

with large_imports():
    from pydantic import ValidationError

    from mosaic_base.input_end import interrupt_at_end_of_input
    from mosaic_cli.errors import CliError
    from mosaic_cli.file_jobs.doing import do_job
    from mosaic_cli.main import problem_text
    from mosaic_client import ClientError, MosaicProblem, connect
    from mosaic_contracts.file_jobs import (
        FileJobLine,
        FileJobOrder,
        FileJobPhase,
        FileJobProgress,
    )

_FAILED, _USAGE, _INTERRUPTED = 1, 2, 130
_EVERY_S = 0.1
"""Least time between two lines of progress of one phase."""


def main() -> None:
    """Do one job. A fault is one line with `problem` on stdout and exit code 1."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        order = _read_order()
        stack = order.stack
        with connect(stack.url, token=stack.token, ca_file=stack.ca_file) as client:
            _say(do_job(client, order.job, _Talk()))
    except MosaicProblem as error:
        _fail(problem_text(error.problem))
    except (CliError, ClientError) as problem:
        _fail(str(problem))
    except OSError as error:
        _fail(f"{error.filename or 'The file'} cannot be used ({error.strerror or error}).")
    except KeyboardInterrupt:
        os._exit(_INTERRUPTED)  # an answer may still be on its way, and is not waited for


def _read_order() -> FileJobOrder:
    line = sys.stdin.buffer.readline()
    try:
        order = FileJobOrder.model_validate_json(line)
    except ValidationError as error:
        sys.stderr.write(f"A FileJobOrder is expected on standard input: {error}\n")
        sys.exit(_USAGE)
    interrupt_at_end_of_input()
    return order


class _Talk:
    """Reports progress, at most ten times a second, and each new phase."""

    def __init__(self) -> None:
        self._next_s = 0.0
        self._phase: FileJobPhase | None = None

    def __call__(self, progress: FileJobProgress) -> None:
        """Report how far the job is."""
        if progress.phase is not self._phase or time.monotonic() >= self._next_s:
            self._phase = progress.phase
            self._next_s = time.monotonic() + _EVERY_S
            _say(FileJobLine(progress=progress))


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    # a second signal must not interrupt the clearing up
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _say(line: FileJobLine) -> None:
    sys.stdout.write(line.model_dump_json(exclude_defaults=True) + "\n")
    sys.stdout.flush()


def _fail(text: str) -> NoReturn:
    _say(FileJobLine(problem=text))
    os._exit(_FAILED)  # see above


if __name__ == "__main__":
    main()
