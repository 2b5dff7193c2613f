"""Makes one form of runs' events, in a process of its own, while the writer of the archive adds batches to a file.

    python -m mosaic_client.archive.form_process

Messages of `mosaic_client.archive.form_messages` come on standard input, and reports go to standard output. The
process ends at once when standard input ends: then nobody waits for the form.
"""

import errno
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO

import zstandard

from mosaic_client.archive.events import archived_pages
from mosaic_client.archive.form_messages import (
    BatchesThere,
    FormKind,
    FormOrder,
    FormReport,
    decode_message,
    encode_line,
)
from mosaic_client.archive.region import open_region
from mosaic_client.errors import AnswerInvalid
from mosaic_client.export.json_lines import write_json_lines
from mosaic_client.export.stored import Spaces, stored_parts
from mosaic_client.export.writing import write_parquet_folder
from mosaic_contracts.stored import BatchPage
from mosaic_contracts.wire import BatchInvalid

_ABANDONED = 3
"""Exit code where standard input ended."""
_LEVEL = 1
_THREADS = 1
"""Threads that compress while lines are made."""
_REPORT_EVENTS = 50_000


class _Input:
    """Messages of the writer, read by a thread, so that the end of the input is seen whatever is done meanwhile."""

    def __init__(self, input_: BinaryIO) -> None:
        self._input = input_
        self._orders: SimpleQueue[FormOrder] = SimpleQueue()
        self._there: SimpleQueue[BatchesThere] = SimpleQueue()
        threading.Thread(target=self._listen, name="input", daemon=True).start()

    def order(self) -> FormOrder:
        """Wait for the next order."""
        return self._orders.get()

    def there(self) -> BatchesThere:
        """Wait for the next message about the batches of this order."""
        return self._there.get()

    def _listen(self) -> None:
        for line in self._input:
            message = decode_message(line)
            if isinstance(message, FormOrder):
                self._orders.put(message)
            else:
                self._there.put(message)
        os._exit(_ABANDONED)  # from a thread: the main one may be anywhere


class _GrowingBatches:
    """Stored batches that another process writes."""

    def __init__(self, order: FormOrder, input_: _Input) -> None:
        self._order = order
        self._input = input_
        self._there = BatchesThere(0, {})
        self._spaces: dict[int, Spaces] = {}

    def pages(self) -> Iterator[BatchPage]:
        """Read all of them from the beginning, as pages of a stack."""
        order = self._order
        with open_region(Path(order.batches), order.start, self._wait_beyond) as file:
            yield from archived_pages(file, self._spaces)

    def _wait_beyond(self, size: int) -> int:
        while self._there.size == size and not self._there.is_all:
            self._there = self._input.there()
            self._spaces |= self._there.spaces
        return self._there.size


class _Reporter:
    """Reports how far the form is, not for every batch."""

    def __init__(self, output: BinaryIO) -> None:
        self._output = output
        self.done = 0
        self._reported = 0

    def count(self, done: int) -> None:
        """Take the number of events so far. It falls where a form begins again."""
        self.done = done
        if not self._reported <= done < self._reported + _REPORT_EVENTS:
            self.send(done=done)
            self._reported = done

    def send(self, **fields: Any) -> None:
        """Send a report."""
        self._output.write(encode_line(FormReport(**fields)))
        self._output.flush()


def _make(order: FormOrder, batches: _GrowingBatches, reporter: _Reporter) -> None:
    target = Path(order.target)
    if order.kind is FormKind.COLUMNS:
        write_parquet_folder(batches.pages, target, None, reporter.count)
        return
    compressor = zstandard.ZstdCompressor(level=_LEVEL, threads=_THREADS)
    with target.open("xb") as file, compressor.stream_writer(file, closefd=False) as lines:
        for done in write_json_lines(stored_parts(batches.pages()), lines):
            reporter.count(done)


def main() -> None:
    """Make what the writer orders, one after the other, until standard input ends or a form cannot be made."""
    input_ = _Input(sys.stdin.buffer)
    failed = False
    while not failed:
        order = input_.order()
        reporter = _Reporter(sys.stdout.buffer)
        failed = not _report(order, _GrowingBatches(order, input_), reporter)


def _report(order: FormOrder, batches: _GrowingBatches, reporter: _Reporter) -> bool:
    """Make a form, and report how that ended. Return whether it was made."""
    try:
        _make(order, batches, reporter)
    except (AnswerInvalid, BatchInvalid) as error:
        reporter.send(invalid=str(error))
    except OSError as error:
        reporter.send(errno=error.errno or errno.EIO)
    else:
        reporter.send(done=reporter.done, is_made=True)
        return True
    return False


if __name__ == "__main__":
    main()
