"""The other forms of a run's events in an archive, JSON lines and Parquet, each made by a process of its own."""

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import IO

from mosaic_base.sealed_zip import SealedZipWriter
from mosaic_client.archive.form_messages import (
    BatchesThere,
    FormKind,
    FormOrder,
    FormReport,
    decode_report,
    encode_line,
)
from mosaic_client.errors import AnswerInvalid, ArchiveRefused, ParquetMissing
from mosaic_client.export.stored import Spaces
from mosaic_contracts.archive_words import RUN_COLUMNS, RUN_LINES, run_entry
from mosaic_contracts.compat import Self

_COPY_BYTES = 2**20
_PROGRAM = "mosaic_client.archive.form_process"
_WORDS = {FormKind.LINES: "JSON lines", FormKind.COLUMNS: "Parquet"}
Messages = SimpleQueue[tuple[FormKind, FormReport | None]]
"""Reports of all processes; None: that one ended."""


class EventForms:
    """Processes that make forms of runs' events, run by run, while the batches of a run are written.

    Use it in a `with` block. At its end the processes are killed, whatever they do.

    Args:
        kinds: forms to make.
        folder: where they are made.

    Raises:
        ParquetMissing: pyarrow is not installed.
    """

    def __init__(self, kinds: Sequence[FormKind], folder: Path) -> None:
        if FormKind.COLUMNS in kinds and find_spec("pyarrow") is None:
            raise ParquetMissing
        self._targets = {kind: folder / f"form-{kind.value}" for kind in kinds}
        self._messages: Messages = SimpleQueue()
        self._programs: dict[FormKind, _FormProgram] = {}
        self._sent: set[int] = set()

    def __enter__(self) -> Self:
        try:
            for kind in self._targets:
                self._programs[kind] = _FormProgram(kind, self._messages)
        except BaseException:
            self._kill()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._kill()

    def begin(self, batches: Path, start: int) -> None:
        """Begin with the forms of a run.

        Args:
            batches: file that gets the run's batches.
            start: where in it they begin.
        """
        self._sent.clear()
        for kind, program in self._programs.items():
            program.begin(FormOrder(kind, str(batches), start, str(self._targets[kind])))

    def done(self, written: int) -> int:
        """Number of events that all forms have, and of which `written` are in the archive.

        Raises:
            AnswerInvalid, ArchiveRefused, OSError: a form cannot be made.
        """
        while not self._messages.empty():
            self._take()
        return min([written, *(program.done for program in self._programs.values())])

    def add(self, size: int, spaces: Mapping[int, Spaces]) -> None:
        """Say how many bytes of batches there are.

        Args:
            size: bytes from their beginning; all of them can be read from the file.
            spaces: spaces of the attempts in it.
        """
        fresh = {attempt: spaces[attempt] for attempt in spaces.keys() - self._sent}
        self._sent |= fresh.keys()
        self._send(BatchesThere(size, fresh))

    def end(self, size: int) -> None:
        """Say that all batches are there; arguments as `add`."""
        self._send(BatchesThere(size, {}, is_all=True))

    def wait_progress(self) -> bool:
        """Wait for the next report of a form. Return whether one is still to come.

        Raises:
            AnswerInvalid, ArchiveRefused, OSError: a form cannot be made.
        """
        if all(program.is_made for program in self._programs.values()):
            return False
        self._take()
        return True

    def copy_into(self, archive: SealedZipWriter, run_id: str) -> None:
        """Move what was made to the archive.

        Raises:
            OSError: the disk refused.
        """
        for kind, target in self._targets.items():
            if kind is FormKind.LINES:
                _move(target, archive, run_entry(run_id, RUN_LINES))
                continue
            for path in sorted(target.iterdir()):
                _move(path, archive, run_entry(run_id, f"{RUN_COLUMNS}/{path.name}"))
            target.rmdir()

    def _send(self, message: BatchesThere) -> None:
        for program in self._programs.values():
            program.send(message)

    def _take(self) -> None:
        kind, report = self._messages.get()
        self._programs[kind].take(report)

    def _kill(self) -> None:
        for program in self._programs.values():
            program.kill()


class _FormProgram:
    """One process and its reports.

    Args:
        kind: what it makes.
        messages: where its reports are queued.
    """

    def __init__(self, kind: FormKind, messages: Messages) -> None:
        self._kind = kind
        self.done = 0
        """Number of events in the form."""
        self.is_made = False
        """Whether the form that was ordered last is complete."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # a module in the current folder is not meant
            env={**os.environ, "PYTHONSAFEPATH": "1"},
            # Ctrl-C ends this process, which then ends the other one
            start_new_session=True,
        )
        self._listener = threading.Thread(
            target=self._listen, args=[messages], name="form", daemon=True
        )
        self._listener.start()

    def begin(self, order: FormOrder) -> None:
        """Order a form."""
        self.done, self.is_made = 0, False
        self.send(order)

    def send(self, message: FormOrder | BatchesThere) -> None:
        """Send a message. That the process ended is known from its last report, or from the lack of one."""
        input_ = self._process.stdin
        if input_ is not None:
            try:
                input_.write(encode_line(message))
                input_.flush()
            except BrokenPipeError:
                return

    def take(self, report: FormReport | None) -> None:
        """Note a report; None: the process ended.

        Raises:
            AnswerInvalid, ArchiveRefused, OSError: the form cannot be made.
        """
        if report is None:
            raise ArchiveRefused(
                f"The process that writes the events as {_WORDS[self._kind]} ended {self._how_ended()}. Archive "
                "again; where memory is short, leave that form out with `--without`."
            )
        if report.invalid is not None:
            raise AnswerInvalid(report.invalid)
        if report.errno is not None:
            raise OSError(report.errno, os.strerror(report.errno))
        self.done, self.is_made = report.done, report.is_made

    def _how_ended(self) -> str:
        status = self._process.wait()
        return f"by signal {-status}" if status < 0 else f"with exit code {status}"

    def kill(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.wait()
        self._listener.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                _close(pipe)

    def _listen(self, messages: Messages) -> None:
        for line in self._process.stdout or ():
            messages.put((self._kind, decode_report(line)))
        messages.put((self._kind, None))


def _close(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except BrokenPipeError:
        return  # what it had not taken


def _move(path: Path, archive: SealedZipWriter, entry: str) -> None:
    with path.open("rb") as made, archive.entry(entry) as file:
        while piece := made.read(_COPY_BYTES):
            file.write(piece)
    path.unlink()
