"""Exports a run: pages of stored batches in, files out. A file appears under its name only when it is complete."""

import os
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, Literal

from mosaic_base.atomic import atomic_file
from mosaic_base.output_file import output_file
from mosaic_client.errors import ExportRefused, ParquetMissing
from mosaic_client.export.json_lines import write_json_lines
from mosaic_client.export.stored import stored_parts
from mosaic_contracts.stored import BatchPage

ReadPage = Callable[[str], BatchPage]
"""Reads the page after a cursor."""
Format = Literal["jsonl", "parquet"]
Progress = Callable[[int], None]


def export_to(
    read_page: ReadPage,
    target: Path,
    format_: Format,
    types: Sequence[str] | None,
    progress: Progress,
) -> int:
    """Write all events of a run to `target` and return their number; see `Client.export`."""
    if format_ == "parquet":
        return _write_parquet(read_page, target, types, progress)
    target = output_file(target)
    with atomic_file(target, durable=True) as part, part.open("wb") as file:
        return stream_json_lines(read_page, file, types, progress)


def stream_json_lines(
    read_page: ReadPage, file: BinaryIO, types: Sequence[str] | None, progress: Progress
) -> int:
    """Write all events of a run as JSON lines to an open file and return their number."""
    count = 0
    for count in write_json_lines(stored_parts(read_pages(read_page), types), file):
        progress(count)
    file.flush()
    return count


def read_pages(read_page: ReadPage) -> Iterator[BatchPage]:
    """Read all pages from the beginning. While the caller uses a page, the next one is fetched."""
    with ThreadPoolExecutor(1, thread_name_prefix="pages") as thread:
        ahead = thread.submit(read_page, "")
        while True:
            page = ahead.result()
            if page.has_more:
                ahead = thread.submit(read_page, page.cursor)
            yield page
            if not page.has_more:
                return


def _write_parquet(
    read_page: ReadPage, target: Path, types: Sequence[str] | None, progress: Progress
) -> int:
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise ExportRefused(f"{target} exists. Name a folder that is new or empty.")
    part = _unfinished(target)
    try:
        count = write_parquet_folder(lambda: read_pages(read_page), part, types, progress)
        if target.exists():
            target.rmdir()
        part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return count


def write_parquet_folder(
    pages: Callable[[], Iterator[BatchPage]],
    folder: Path,
    types: Sequence[str] | None,
    progress: Progress,
    as_text: Collection[str] = (),
) -> int:
    """Write events as Parquet files in a new folder and return their number.

    Args:
        pages: begins to read all pages; called again where a column turns out to need another type.
        folder: does not exist.
        types: event types to write; None: all.
        progress: called with the number of events so far.
        as_text: columns with a value that is known not to fit the run's space.

    Raises:
        ParquetMissing: pyarrow is not installed.
        OSError: the disk refused.
    """
    try:
        from mosaic_client.export.columns import ValueMisfit
        from mosaic_client.export.parquet import ParquetFolder
    except ImportError as error:
        raise ParquetMissing from error
    text = set(as_text)
    while True:
        folder.mkdir()
        count = 0
        try:
            with ParquetFolder(folder, text) as files:
                for count in files.write(stored_parts(pages(), types)):
                    progress(count)
        except ValueMisfit as misfit:
            text.add(misfit.column)
            shutil.rmtree(folder)
        else:
            return count


def _unfinished(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}.part")
