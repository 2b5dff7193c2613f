"""The other forms of a run's events in an archive, JSON lines and Parquet: made in files, then copied into it."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Protocol

import zstandard

from mosaic_base.sealed_zip import SealedZipWriter
from mosaic_client.errors import ParquetMissing
from mosaic_client.export.json_lines import json_lines
from mosaic_client.export.stored import StoredPart
from mosaic_client.export.writing import write_parquet_folder
from mosaic_contracts.archive_words import RUN_COLUMNS, RUN_LINES, run_entry
from mosaic_contracts.compat import Self
from mosaic_contracts.stored import BatchPage

_COPY_BYTES = 2**20
_LEVEL = 1
_THREADS = 1
"""Threads that compress while lines are made."""
ReadAgain = Callable[[], Iterator[BatchPage]]
"""Begins to read all events of the run once more."""


class EventFile(Protocol):
    """A form of the events in the making; a context in which `add` is called for all of them."""

    def __enter__(self) -> Self:
        """Begin."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End."""

    def add(self, part: StoredPart) -> None:
        """Take events that follow those before in time."""

    def copy_into(self, archive: SealedZipWriter, run_id: str, read_again: ReadAgain) -> None:
        """Add what was made to the archive, after the end of the context.

        Args:
            archive: where to.
            run_id: the run.
            read_again: reads all events once more, where that is necessary.

        Raises:
            OSError: the disk refused.
        """


class LinesFile:
    """Events as JSON lines, compressed by zstd.

    Args:
        path: does not exist; the lines are made there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open = ExitStack()

    def __enter__(self) -> Self:
        file = self._open.enter_context(self._path.open("xb"))
        compressor = zstandard.ZstdCompressor(level=_LEVEL, threads=_THREADS)
        self._lines = self._open.enter_context(compressor.stream_writer(file, closefd=False))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.__exit__(kind, error, trace)

    def add(self, part: StoredPart) -> None:
        """Take events that follow those before in time."""
        self._lines.write(json_lines(part))

    def copy_into(self, archive: SealedZipWriter, run_id: str, read_again: ReadAgain) -> None:
        """Add the lines to the archive; arguments as `EventFile.copy_into`."""
        del read_again
        _move(self._path, archive, run_entry(run_id, RUN_LINES))


class ColumnFiles:
    """Events as Parquet, a file for each type.

    The first value that does not fit the type of its column ends the writing. `copy_into` then writes everything
    again, with that column as text.

    Args:
        folder: does not exist; the files are made there.

    Raises:
        ParquetMissing: pyarrow is not installed.
    """

    def __init__(self, folder: Path) -> None:
        try:
            from mosaic_client.export.columns import ValueMisfit
            from mosaic_client.export.parquet import ParquetFolder
        except ImportError as error:
            raise ParquetMissing from error
        folder.mkdir()
        self._folder = folder
        self._files = ParquetFolder(folder)
        self._misfit_error = ValueMisfit
        self._as_text: str | None = None

    def __enter__(self) -> Self:
        self._files.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._files.__exit__(kind, error, trace)
        except self._misfit_error as misfit:
            self._as_text = misfit.column

    def add(self, part: StoredPart) -> None:
        """Take events that follow those before in time."""
        if self._as_text is None:
            try:
                self._files.add(part)
            except self._misfit_error as misfit:
                self._as_text = misfit.column

    def copy_into(self, archive: SealedZipWriter, run_id: str, read_again: ReadAgain) -> None:
        """Add the files to the archive; arguments as `EventFile.copy_into`."""
        if self._as_text is not None:
            shutil.rmtree(self._folder)
            write_parquet_folder(
                read_again, self._folder, None, lambda _: None, as_text={self._as_text}
            )
        for path in sorted(self._folder.iterdir()):
            _move(path, archive, run_entry(run_id, f"{RUN_COLUMNS}/{path.name}"))
        self._folder.rmdir()


def _move(path: Path, archive: SealedZipWriter, entry: str) -> None:
    with path.open("rb") as made, archive.entry(entry) as file:
        while piece := made.read(_COPY_BYTES):
            file.write(piece)
    path.unlink()
