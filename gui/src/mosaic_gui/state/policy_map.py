"""A table of action values on the grid of its world: value and best actions of each cell."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mosaic_contracts.grid import Grid

Move = tuple[int, int]


@dataclass(frozen=True)
class CellPolicy:
    """One cell."""

    values: list[float]
    """Value of each action."""
    share: float
    """The best of them, between the lowest (0) and the highest (1) of all cells that are known."""
    best: tuple[int, ...]
    """Actions with that value; empty: the values of all actions are equal, so nothing was learned here."""


def policy_map(
    grid: Grid, values: NDArray[np.float32] | None, state: int | None
) -> list[list[CellPolicy]] | None:
    """Rows of cells; None without a table that fits the grid.

    Args:
        state: where a cell has several states, those that differ from this one in their place alone are shown.
    """
    rows, columns = grid.shape
    per_cell = grid.states_per_cell
    if values is None or values.shape != (rows * columns * per_cell, len(grid.actions)):
        return None
    table = values[(state or 0) % per_cell :: per_cell].astype(np.float64)
    table = np.where(np.isfinite(table), table, 0.0)
    top = table.max(axis=1)
    known = top > table.min(axis=1)
    low, high = (top[known].min(), top[known].max()) if known.any() else (0.0, 0.0)
    span = high - low if high > low else 1.0
    cells = [
        CellPolicy(
            values=table[n].tolist(),
            share=float(np.clip((top[n] - low) / span, 0, 1)) if known[n] else 0.0,
            best=tuple(np.flatnonzero(table[n] == top[n]).tolist()) if known[n] else (),
        )
        for n in range(rows * columns)
    ]
    return [cells[row * columns : (row + 1) * columns] for row in range(rows)]


def move_of(grid: Grid, action: int) -> Move | None:
    """Rows and columns that an action means to move by; None: it moves nothing."""
    move = grid.actions[action].move
    return (move[0], move[1]) if move and len(move) == 2 and any(move) else None
