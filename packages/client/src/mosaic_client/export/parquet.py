"""Writes events as Parquet: one file for each event type, in a folder; namespaced types share `extra.parquet`."""

from collections.abc import Collection, Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import Any, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic_core import to_json

from mosaic_client.export.columns import SpaceColumn
from mosaic_client.export.stored import Spaces, StoredPart
from mosaic_contracts.builtin_values import to_builtin
from mosaic_contracts.compat import Self
from mosaic_contracts.wire import TYPE_OF, Batch, Record, StepFlag

_GROUP_ROWS = 50_000
_GROUP_BYTES = 32 * 2**20
"""A row group is written at so many rows, or bytes of observations: what is held in memory stays bounded."""
_ENVELOPE = [
    pa.field("run_id", pa.dictionary(pa.int8(), pa.string())),
    pa.field("attempt", pa.int32()),
    pa.field("source", pa.string()),
    pa.field("seq", pa.int64()),
    pa.field("t", pa.timestamp("us", "UTC")),
]
_FLAGS = (int(StepFlag.TERMINATED), int(StepFlag.TRUNCATED))
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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for file in self._files.values():
            file.close(finish=error is None)

    def write(self, parts: Iterable[StoredPart]) -> Iterator[int]:
        """Write all records. Yields the number written so far, after each part.

        Raises:
            ValueMisfit: name its column in `as_text` and write again, to a new folder.
        """
        count = 0
        for part, records, spaces in parts:
            by_class: dict[type[Record], list[Record]] = {}
            for record in records:
                by_class.setdefault(type(record), []).append(record)
            for kind, found in by_class.items():
                self._file(kind, spaces).add(part.batch, found, spaces)
            count += len(records)
            yield count

    def _file(self, kind: type[Record], spaces: Spaces | None) -> "_TypeFile":
        file = self._files.get(kind)
        if file is None:
            path = self._folder / f"{TYPE_OF.get(kind, 'extra')}.parquet"
            file = self._files[kind] = _TypeFile(path, kind, spaces, self._as_text)
        return file


class _TypeFile:
    """The file of one event type, or of all namespaced types."""

    def __init__(
        self, path: Path, kind: type[Record], spaces: Spaces | None, as_text: Collection[str]
    ) -> None:
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
        self._writer = pq.ParquetWriter(path, self._schema, compression="zstd")
        self._held: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0

    def add(self, batch: Batch, records: list[Any], spaces: Spaces | None) -> None:
        """Add records of one batch, whose values `spaces` explain."""
        arrays = _envelope(batch, records)
        for name in self._names:
            values = list(map(attrgetter(name), records))
            if name in self._columns:
                arrays.append(self._columns[name].array(values, (spaces or {}).get(name)))
            elif name == "flags":
                arrays += [pa.array([v & flag > 0 for v in values], pa.bool_()) for flag in _FLAGS]
            else:
                arrays.append(_plain_column(values, self._schema.field(name).type))
        made = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        self._held.append(made)
        self._rows += made.num_rows
        self._bytes += made.nbytes
        if self._rows >= _GROUP_ROWS or self._bytes >= _GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what is held as one row group."""
        if self._held:
            self._writer.write_table(pa.Table.from_batches(self._held, self._schema))
        self._held, self._rows, self._bytes = [], 0, 0

    def close(self, finish: bool) -> None:
        """Close the file; `finish`: write what is held first."""
        if finish:
            self.flush()
        self._writer.close()


def _envelope(batch: Batch, records: list[Any]) -> list[pa.Array]:
    count, t0_us = len(records), batch.t0_us
    # With a type for each array: to infer one, pyarrow tries to import pandas every time.
    run_id = pa.DictionaryArray.from_arrays(
        pa.repeat(pa.scalar(0, pa.int8()), count), pa.array([batch.run_id], pa.string())
    )
    return [
        run_id,
        pa.repeat(pa.scalar(batch.attempt, pa.int32()), count),
        pa.repeat(pa.scalar(batch.source, pa.string()), count),
        pa.array([record.seq for record in records], pa.int64()),
        pa.array([t0_us + record.dt for record in records], pa.timestamp("us", "UTC")),
    ]


def _plain_column(values: list[Any], kind: pa.DataType) -> pa.Array:
    if values and type(values[0]) is bytes:
        values = [value.hex() for value in values]
    elif pa.types.is_string(kind):
        values = [value if isinstance(value, str | None) else _json(value) for value in values]
    return pa.array(values, kind)


def _json(value: Any) -> str:
    return to_json(to_builtin(value, None), inf_nan_mode="strings").decode()
