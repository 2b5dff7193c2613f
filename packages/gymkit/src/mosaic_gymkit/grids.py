"""How the states of a world lie on a grid, for clients that draw beliefs, values or a policy over it."""

from typing import Any

from mosaic_contracts.grid import Grid, GridAction

_LAKE_CELLS = {"S": "start", "F": "frozen", "H": "hole", "G": "goal"}

_LEFT_DOWN_RIGHT_UP = [
    GridAction(name="left", move=[0, -1]),
    GridAction(name="down", move=[1, 0]),
    GridAction(name="right", move=[0, 1]),
    GridAction(name="up", move=[-1, 0]),
]
_UP_RIGHT_DOWN_LEFT = [_LEFT_DOWN_RIGHT_UP[i] for i in (3, 2, 1, 0)]
_TAXI = [
    GridAction(name="south", move=[1, 0]),
    GridAction(name="north", move=[-1, 0]),
    GridAction(name="east", move=[0, 1]),
    GridAction(name="west", move=[0, -1]),
    GridAction(name="pickup"),
    GridAction(name="dropoff"),
]


def grid_of(env: Any) -> Grid | None:
    """Return the grid of an environment.

    Args:
        env: an environment of Gymnasium, wrapped or not.

    Returns:
        Its grid; None: its states lie on none that is known here.
    """
    env = env.unwrapped
    name = type(env).__name__
    if name == "FrozenLakeEnv":
        rows = ["".join(cell.decode() for cell in row) for row in env.desc]
        return _grid([[_LAKE_CELLS[letter] for letter in row] for row in rows], _LEFT_DOWN_RIGHT_UP)
    if name == "CliffWalkingEnv":
        return _grid(_cliff_cells(*env.shape), _UP_RIGHT_DOWN_LEFT)
    if name == "TaxiEnv":
        cells = [["road"] * 5 for _ in range(5)]
        for row, column in env.locs:
            cells[row][column] = "stop"
        return _grid(cells, _TAXI, states_per_cell=env.observation_space.n // 25)
    return None


def _cliff_cells(height: int, width: int) -> list[list[str]]:
    cells = [["floor"] * width for _ in range(height)]
    cells[-1] = ["start", *["cliff"] * (width - 2), "goal"]
    return cells


def _grid(cells: list[list[str]], actions: list[GridAction], states_per_cell: int = 1) -> Grid:
    return Grid(
        shape=[len(cells), len(cells[0])],
        cells=cells,
        actions=actions,
        states_per_cell=states_per_cell,
    )
