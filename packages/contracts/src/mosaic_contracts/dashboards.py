"""TensorBoard for a selection of runs, served by a run of kind `dashboard` through the gateway."""

from typing import Annotated

from pydantic import Field, StringConstraints, field_validator

from mosaic_contracts.ids import RunIdField
from mosaic_contracts.models import UserModel

DASHBOARD_SOCKET = "control/dashboard.sock"
"""Unix socket in the folder of a dashboard, on which TensorBoard answers HTTP."""
EVENT_FILES_DIR = "tensorboard"
"""Folder in a run's folder with its event files."""
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


class DashboardRequest(UserModel):
    """Body of `POST /tensorboards`: open TensorBoard with these runs."""

    runs: Annotated[list[RunIdField], Field(min_length=1, max_length=MAX_DASHBOARD_RUNS)]

    @field_validator("runs")
    @classmethod
    def _without_repeats(cls, value: list[str]) -> list[str]:
        return list(dict.fromkeys(value))
