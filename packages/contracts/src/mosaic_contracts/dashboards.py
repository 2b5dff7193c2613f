"""TensorBoard for a selection of runs, served by a run of kind `dashboard` through the gateway."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, StringConstraints, field_validator, model_validator

from mosaic_contracts.compat import Self
from mosaic_contracts.id_fields import RunIdField
from mosaic_contracts.models import PeerModel, UserModel

DASHBOARD_SOCKET = "control/dashboard.sock"
"""Unix socket in the folder of a dashboard, on which TensorBoard answers HTTP."""
EVENT_FILES_DIR = "tensorboard"
"""Folder in a run's folder with its event files."""
EVENT_FILE_MARK = "tfevents"
"""Part of the name of every event file."""
SELECTED_DIR = "selected"
"""Folder in a dashboard's folder: for each selected run one entry, the run's folder of event files (a link, or in a
container a mount)."""
DASHBOARDS_PATH = "/dashboards"
"""Path of the gateway below which each dashboard is served, as `/dashboards/<run id>/`."""
POINTS_PATH = "/mosaic/points"
"""Path on the socket that takes points of selected runs without event files. The gateway proxies no request to it."""
MAX_DASHBOARD_RUNS = 100
"""Maximum number of runs in one dashboard."""
MAX_DASHBOARDS = 4
"""Dashboards that run at once. For a further one, the one that was unused for the longest time is stopped."""
DASHBOARD_IDLE_S = 900.0
"""Seconds without a request after which a dashboard ends, by default."""
DASHBOARD_WALL_TIME_S = 43_200.0
"""Time limit of a dashboard in seconds."""

FolderName = Annotated[
    str, StringConstraints(min_length=1, max_length=150, pattern=r"^[^./\x00-\x1f][^/\x00-\x1f]*$")
]


class SelectedRun(UserModel):
    """One run of a dashboard."""

    run_id: RunIdField
    folder: FolderName
    """Its name in TensorBoard, unique in the dashboard: its name in the list, without characters that a path cannot
    hold."""


class DashboardSource(UserModel):
    """What a run of kind `dashboard` shows."""

    runs: Annotated[list[SelectedRun], Field(min_length=1, max_length=MAX_DASHBOARD_RUNS)]
    idle_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = DASHBOARD_IDLE_S
    """Seconds without a request after which it ends."""

    @property
    def run_ids(self) -> frozenset[str]:
        """Ids of its runs."""
        return frozenset(run.run_id for run in self.runs)


class StoredPoints(PeerModel):
    """Body of a POST to `POINTS_PATH`: what the store has of a selected run without event files, in order."""

    folder: FolderName
    cursor: str = ""
    """How far the dashboard must be already; "": the beginning."""
    next_cursor: str
    """How far it is with these points."""
    names: list[str]
    """Name of each point's metric."""
    steps: list[int]
    times: list[float]
    """Seconds since the epoch."""
    values: list[float]
    config: dict[str, Any] | None = None
    """The run's configuration, with its first points."""

    model_config = {**PeerModel.model_config, "ser_json_inf_nan": "constants"}

    @model_validator(mode="after")
    def _check_lengths(self) -> Self:
        if len({len(self.names), len(self.steps), len(self.times), len(self.values)}) > 1:
            raise ValueError("names, steps, times and values must have one length")
        return self


class PointsTaken(PeerModel):
    """Answer of `POINTS_PATH`: how far each selected run without event files is, by its name."""

    cursors: dict[str, str]


class DashboardRequest(UserModel):
    """Body of `POST /tensorboards`: open TensorBoard with these runs."""

    runs: Annotated[list[RunIdField], Field(min_length=1, max_length=MAX_DASHBOARD_RUNS)]

    @field_validator("runs")
    @classmethod
    def _without_repeats(cls, value: list[str]) -> list[str]:
        return list(dict.fromkeys(value))


CONFIG_TAG = "config"
"""Tag of the text with a run's configuration."""


def config_table(config: Mapping[str, Any]) -> str:
    """The configuration of a run as a Markdown table, for TensorBoard's texts."""
    rows = [("algorithm", config.get("algorithm")), ("environment", config.get("environment"))]
    rows += sorted(hyperparameters(config).items())
    cells = [f"| {_cell(name)} | {_cell(value)} |" for name, value in rows]
    return "\n".join(["| parameter | value |", "| --- | --- |", *cells])


def hyperparameters(config: Mapping[str, Any]) -> dict[str, bool | int | float | str]:
    """The arguments and the seed of a run that TensorBoard's table of hyperparameters can hold."""
    arguments = config.get("arguments")
    named = {"seed": config.get("seed"), **(arguments if isinstance(arguments, Mapping) else {})}
    return {
        str(name): value
        for name, value in named.items()
        if isinstance(value, bool | int | float | str)
    }


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")
