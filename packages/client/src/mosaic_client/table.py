"""Named columns of equal length: lists at first, numpy arrays and a pandas data frame when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mosaic_client.errors import NotebookMissing
from mosaic_client.markup import table_html

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

_SHOWN_ROWS = 20
_NOT_FINITE = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class Table:
    """Named columns of equal length.

    `table["reward"]` is a numpy array and `table.to_pandas()` a data frame; `table.columns` are lists and need neither
    library. A missing number is NaN in an array and None in a list.

    Args:
        columns: cells by column name.
        title: shown above the table in a notebook.

    Raises:
        ValueError: the columns are not equally long.
    """

    def __init__(self, columns: Mapping[str, Sequence[Any]], title: str = "") -> None:
        self.columns: dict[str, list[Any]] = {name: list(cells) for name, cells in columns.items()}
        self.title = title
        if len({len(cells) for cells in self.columns.values()}) > 1:
            raise ValueError("columns of a table are equally long")

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return one column as a numpy array; vectors of equal length become one array of two dimensions.

        Args:
            name: name of the column.

        Returns:
            An array of numbers, text or, for mixed cells, of objects.

        Raises:
            KeyError: there is no such column.
            NotebookMissing: numpy is not installed.
        """
        if name not in self.columns:
            raise KeyError(f"{name!r} is no column; there are {', '.join(self.columns)}")
        return _array(self.columns[name])

    def rows(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows.

        Yields:
            Cells by column name.
        """
        for cells in zip(*self.columns.values(), strict=True):
            yield dict(zip(self.columns, cells, strict=True))

    def to_pandas(self) -> pd.DataFrame:
        """Convert to a pandas data frame.

        Returns:
            A data frame with these columns.

        Raises:
            NotebookMissing: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise NotebookMissing("pandas") from error
        arrays = {name: _array(cells) for name, cells in self.columns.items()}
        flat = {
            name: cells if cells.ndim == 1 else self.columns[name] for name, cells in arrays.items()
        }
        frame: pd.DataFrame = pd.DataFrame(flat)
        return frame

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {self.title}: {len(self)} rows of {', '.join(self.columns)}>"
        )

    def _repr_html_(self) -> str:
        rows = [list(row.values()) for _, row in zip(range(_SHOWN_ROWS), self.rows(), strict=False)]
        more = f", the first {_SHOWN_ROWS} shown" if len(self) > _SHOWN_ROWS else ""
        return table_html(
            list(self.columns), rows, f"{self.title}: {len(self)} rows{more}".lstrip(": ")
        )


def number(value: Any) -> Any:
    """Replace the words `NaN`, `Infinity` and `-Infinity` of a plain event by floats.

    Args:
        value: a value of an event; lists are converted item by item.

    Returns:
        The value with floats.
    """
    if isinstance(value, str):
        return _NOT_FINITE.get(value, value)
    if isinstance(value, list):
        return [number(item) for item in value]
    return value


def _array(cells: list[Any]) -> NDArray[Any]:
    try:
        import numpy as np
    except ImportError as error:
        raise NotebookMissing("numpy") from error
    known = [cell for cell in cells if cell is not None]
    if len(known) < len(cells) and all(type(cell) in (int, float) for cell in known):
        return np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
    plain = all(type(cell) in (int, float, bool, str) for cell in cells)
    if plain and (len({type(cell) for cell in cells}) == 1 or _are_numbers(cells)):
        return np.array(cells)
    if cells and _is_regular(cells):
        return np.array(cells)
    mixed = np.empty(len(cells), dtype=object)
    mixed[:] = cells
    return mixed


def _are_numbers(cells: list[Any]) -> bool:
    return all(type(cell) in (int, float) for cell in cells)


def _is_regular(cells: list[Any]) -> bool:
    """Whether the cells are (nested) vectors of numbers of one shape."""
    shapes = {_shape(cell) for cell in cells}
    return len(shapes) == 1 and None not in shapes


def _shape(cell: Any) -> tuple[int, ...] | None:
    if isinstance(cell, list):
        inner = {_shape(item) for item in cell}
        if len(inner) > 1 or None in inner:
            return None
        return (len(cell), *(inner.pop() or ())) if inner else (0,)
    return () if isinstance(cell, int | float) else None
