"""Writes events as Parquet: one file for each event type, in a folder; namespaced types share `extra.parquet`."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, get_type_hints

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mosaic_client.export.columns import SpaceColumn, json_text
from mosaic_client.export.packed_columns import field_values, floats, hexadecimal, integers
from mosaic_client.export.rows import HeldRows
from mosaic_client.export.stored import Spaces, StoredPart
from mosaic_contracts.compat import Self
from mosaic_contracts.wire import TYPE_OF, Batch, Record, StepFlag

_GROUP_ROWS = 50_000
_GROUP_BYTES = 32 * 2**20
"""A row group is written at so many rows, or bytes of observations: what is held in memory stays bounded."""
_TIME = pa.timestamp("us", "UTC")
_ENVELOPE = [
    pa.field("run_id", pa.dictionary(pa.int8(), pa.string())),
    pa.field("attempt", pa.int32()),
    pa.field("source", pa.string()),
    pa.field("seq", pa.int64()),
    pa.field("t", _TIME),
]
_CLIMBING = {"seq", "t", "episode", "step", "global_step"}
"""Integers that differ little from the row before: their differences are stored, an eighth of the bytes, in a third of
the time of a dictionary."""
_DISTINCT = {"hash"}
"""Columns without equal values: a dictionary of them would be thrown away."""
_FLAGS = tuple(pa.scalar(int(flag), pa.int64()) for flag in StepFlag)
_AS_IT_IS = frozenset({str, type(None)})
"""Types whose values a column of text takes."""
_FIRST = pa.scalar(0, pa.int8())
_NO_FLAG = pa.scalar(0, pa.int64())
_OF_SPACES = ("action", "observation")
_ARROW_TYPES = {int: pa.int64(), float: pa.float64(), int | None: pa.int64()}
"""By a field's annotation; text for the rest."""


class ParquetFolder:
    """Parquet files of one run in a folder that exists: `step.parquet`, `metric.parquet` and so on.

    Columns are named as the fields of the events. `t` is a timestamp, `flags` becomes the columns `terminated` and
    `truncated`, `action` and `observation` have the type of the run's space (`SpaceColumn`), nested values are
    JSON text.
    """

    def __init__(self, folder: Path, as_text: Collection[str] = ()) -> None:
        """`as_text`: columns of actions or observations to write as JSON text, because a value did not fit."""
        self._folder = folder
        self._as_text = as_text
        self._files: dict[type[Record], _TypeFile] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="parquet")
        self._written: Future[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                for file in self._files.values():
                    file.flush()
                self._wait_written()
        finally:
            self._thread.shutdown()
            for file in self._files.values():
                file.close()

    def write(self, parts: Iterable[StoredPart]) -> Iterator[int]:
        """Write all records. Yields the number written so far, after each part. Raises what `add` raises."""
        count = 0
        for part in parts:
            self.add(part)
            count += len(part.records)
            yield count

    def add(self, part: StoredPart) -> None:
        """Write records of one batch.

        Raises:
            ValueMisfit: name its column in `as_text` and write all again, to a new folder.
            OSError: the disk refused.
        """
        by_class: defaultdict[type[Record], list[Record]] = defaultdict(list)
        for record in part.records:
            by_class[type(record)].append(record)
        for kind, found in by_class.items():
            self._file(kind, part.spaces).add(part.part.batch, found, part.spaces)

    def _write_behind(self, work: Callable[[], None]) -> None:
        """Encode and compress in another thread; one row group at a time, so that memory stays bounded."""
        self._wait_written()
        self._written = self._thread.submit(work)

    def _wait_written(self) -> None:
        written, self._written = self._written, None
        if written is not None:
            written.result()

    def _file(self, kind: type[Record], spaces: Spaces | None) -> "_TypeFile":
        file = self._files.get(kind)
        if file is None:
            path = self._folder / f"{TYPE_OF.get(kind, 'extra')}.parquet"
            file = _TypeFile(path, kind, spaces, self._as_text, self._write_behind)
            self._files[kind] = file
        return file


class _TypeFile:
    """The file of one event type, or of all namespaced types."""

    def __init__(
        self,
        path: Path,
        kind: type[Record],
        spaces: Spaces | None,
        as_text: Collection[str],
        write_behind: Callable[[Callable[[], None]], None],
    ) -> None:
        self._write_behind = write_behind
        self._names = [name for name in kind.__struct_fields__ if name not in ("seq", "dt")]
        self._columns = {
            # a column has one type, by the space of the first attempt
            name: SpaceColumn(name, (spaces or {}).get(name), name in as_text)
            for name in self._names
            if name in _OF_SPACES
        }
        annotations = get_type_hints(kind)
        fields = [*_ENVELOPE]
        for name in self._names:
            if name in self._columns:
                fields.append(self._columns[name].field)
            elif name == "flags":
                fields += [pa.field("terminated", pa.bool_()), pa.field("truncated", pa.bool_())]
            else:
                fields.append(pa.field(name, _ARROW_TYPES.get(annotations[name], pa.string())))
        self._schema = pa.schema(fields)
        self._writer = _open_writer(path, self._schema)
        self._rows = HeldRows()
        self._group: list[pa.RecordBatch] = []
        self._group_rows = self._group_bytes = 0

    def add(self, batch: Batch, records: list[Any], spaces: Spaces | None) -> None:
        """Add records of one batch, whose values `spaces` explain."""
        if not self._rows.can_take(batch, spaces):
            self._build()
        self._rows.add(batch, records, spaces)

    def _build(self) -> None:
        """Make columns of the held records, and write what has become a row group."""
        rows, self._rows = self._rows, HeldRows()
        if rows.batch is None:
            return
        arrays = _envelope(rows.batch, rows)
        for name in self._names:
            values = field_values(rows.records, name)
            if name in self._columns:
                arrays.append(self._columns[name].array(values, (rows.spaces or {}).get(name)))
            elif name == "flags":
                flags = integers(values)
                arrays += [pc.not_equal(pc.bit_wise_and(flags, flag), _NO_FLAG) for flag in _FLAGS]
            else:
                arrays.append(_plain_column(values, self._schema.field(name).type))
        made = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        self._group.append(made)
        self._group_rows += made.num_rows
        self._group_bytes += made.nbytes
        if self._group_rows >= _GROUP_ROWS or self._group_bytes >= _GROUP_BYTES:
            self._write_group()

    def _write_group(self) -> None:
        group = pa.Table.from_batches(self._group, self._schema)
        self._write_behind(lambda: self._writer.write_table(group))
        self._group, self._group_rows, self._group_bytes = [], 0, 0

    def flush(self) -> None:
        """Write all that is held."""
        self._build()
        if self._group:
            self._write_group()

    def close(self) -> None:
        """Close the file."""
        self._writer.close()


def _open_writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    climbing = [
        field.name
        for field in schema
        if field.name in _CLIMBING and not pa.types.is_string(field.type)
    ]
    leaves = [
        f"{field.name}.list.element" if pa.types.is_nested(field.type) else field.name
        for field in schema
    ]
    return pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        use_dictionary=[name for name in leaves if name not in {*climbing, *_DISTINCT}],
        column_encoding=dict.fromkeys(climbing, "DELTA_BINARY_PACKED"),
    )


def _envelope(batch: Batch, rows: HeldRows) -> list[pa.Array]:
    count = len(rows.records)
    run_id, attempt, source = _shared(batch.run_id, batch.attempt, batch.source)
    return [
        pa.DictionaryArray.from_arrays(pa.repeat(_FIRST, count), run_id),
        pa.repeat(attempt, count),
        pa.repeat(source, count),
        integers([record.seq for record in rows.records]),
        integers(rows.times_us).view(_TIME),
    ]


@lru_cache(maxsize=64)
def _shared(run_id: str, attempt: int, source: str) -> tuple[pa.Array, pa.Scalar, pa.Scalar]:
    """What all rows of a source have in common."""
    # With a type for each: to infer one, pyarrow tries to import pandas every time.
    return (
        pa.array([run_id], pa.string()),
        pa.scalar(attempt, pa.int32()),
        pa.scalar(source, pa.string()),
    )


def _plain_column(values: list[Any], kind: pa.DataType) -> pa.Array:
    if values and type(values[0]) is bytes:
        return hexadecimal(values)
    if pa.types.is_string(kind):
        values = [value if type(value) in _AS_IT_IS else json_text(value, None) for value in values]
    elif None not in values:
        return integers(values) if pa.types.is_integer(kind) else floats(values)
    return pa.array(values, kind)
