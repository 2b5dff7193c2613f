"""How the states of a world lie on a grid: enough to draw values, a policy or what an agent believes over it.

An `Environment` of `describe` carries it for the world as it is registered, the `config` event (`grid`) for the one
that really ran, whose map may be the user's own.
"""

from pydantic import Field, model_validator

from mosaic_contracts.compat import Self
from mosaic_contracts.models import PeerModel


class GridAction(PeerModel):
    """One action, by its number's place."""

    name: str
    """In a word: `left`, `pickup`."""
    move: list[int] | None = None
    """Rows and columns that it means to move by, `[0, -1]`; None: it moves nothing. Walls and ice may say otherwise."""


class Grid(PeerModel):
    """Rows from the top, columns from the left."""

    shape: list[int] = Field(min_length=2, max_length=2)
    """Rows and columns."""
    cells: list[list[str]]
    """The kind of each cell, in a word of the world's own: `start`, `goal`, `hole`, `cliff`, `frozen`, ..."""
    actions: list[GridAction]
    states_per_cell: int = Field(default=1, ge=1)
    """State s lies on cell s // states_per_cell, counted along the rows; above 1 a state says more than a place."""

    @model_validator(mode="after")
    def _check_cells(self) -> Self:
        rows, columns = self.shape
        if len(self.cells) != rows or any(len(row) != columns for row in self.cells):
            raise ValueError(f"the cells are not {rows} rows of {columns}")
        return self
