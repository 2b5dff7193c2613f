"""The grid world of a run, from its `config` event, and the position of the agent."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from mosaic_contracts.decisions import state_of
from mosaic_contracts.grid import Grid


def world_of(config: Mapping[str, Any]) -> Grid | None:
    """The grid of a `config` event's data; None where it has none, or one of a kind that is not known here."""
    reported = config.get("grid")
    if reported is None:
        return None
    try:
        return Grid.model_validate(reported)
    except ValidationError:
        return None  # a newer worker's: the rest of its run is shown all the same


def place_of(
    grid: Grid, config: Mapping[str, Any], event: Mapping[str, Any] | None
) -> tuple[int, int] | None:
    """Row and column to which a step, or an episode's start, led; None where that is no state of the grid."""
    return cell_of(grid, state_of(config, event) if event else None)


def cell_of(grid: Grid, state: int | None) -> tuple[int, int] | None:
    """Row and column of a numbered state; None where it has no cell."""
    if state is None:
        return None
    rows, columns = grid.shape
    cell = state // grid.states_per_cell
    return divmod(cell, columns) if 0 <= cell < rows * columns else None
