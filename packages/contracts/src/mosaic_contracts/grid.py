"""How the states of a world lie on a grid: enough to draw values, a policy or what an agent believes over it.

An `Environment` of `describe` carries it for the world as it is registered, the `config` event (`grid`) for the one
that really ran, whose map may be the user's own.
"""

from pydantic import Field, model_validator

from mosaic_contracts.compat import Self
from mosaic_contracts.models import PeerModel


class GridAction(PeerModel):
    """One action of a grid world. Its place in the list is its number."""

    name: str
    """Name of the action, e.g. `left` or `pickup`."""
    move: list[int] | None = None
    """Intended move in rows and columns, e.g. `[0, -1]`; None: no move. Walls and slippery cells may prevent it."""


class Grid(PeerModel):
    """A world of cells, listed in rows from the top, each row from the left."""

    shape: list[int] = Field(min_length=2, max_length=2)
    """Number of rows and columns."""
    cells: list[list[str]]
    """Kind of each cell, in the world's own word: `start`, `goal`, `hole`, `cliff`, `frozen`, ..."""
    actions: list[GridAction]
    states_per_cell: int = Field(default=1, ge=1)
    """Number of states for each cell: state s lies on cell `s // states_per_cell`. Above 1, a state holds more than
    a place."""

    @model_validator(mode="after")
    def _check_cells(self) -> Self:
        rows, columns = self.shape
        if len(self.cells) != rows or any(len(row) != columns for row in self.cells):
            raise ValueError(f"the cells are not {rows} rows of {columns}")
        return self
