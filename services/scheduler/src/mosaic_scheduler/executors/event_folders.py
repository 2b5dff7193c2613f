"""The event files of selected runs, as a dashboard sees them: a link to each run's folder, or a mount."""

import shutil
import stat
from pathlib import Path

from mosaic_contracts.dashboards import EVENT_FILES_DIR, SELECTED_DIR, DashboardSource
from mosaic_contracts.spec import RunSpec
from mosaic_servicekit.privacy import private_folder


def prepare_selected(run_dir: Path, spec: RunSpec, *, is_container: bool) -> None:
    """Make the folder of selected runs in the folder of a dashboard; for any other run do nothing.

    Raises:
        OSError: the disk refused.
    """
    if spec.dashboard is None:
        return
    folder = run_dir / SELECTED_DIR
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)
    private_folder(folder)
    for run in spec.dashboard.runs:
        place = folder / run.folder
        if is_container:
            place.mkdir(mode=0o700)  # the engine mounts over it
        else:
            place.symlink_to(run_dir.parent / run.run_id / EVENT_FILES_DIR)


def mountable(runs: Path, source: DashboardSource) -> list[tuple[str, str]]:
    """Ids of the runs whose folder of event files can be mounted, each with its name in the dashboard.

    A folder that is missing is made where its run may still write it: a mount cannot come later. One that is a link is
    left out.

    Args:
        runs: the folder of all run folders.
        source: what the dashboard shows.

    Raises:
        OSError: the disk refused.
    """
    found = []
    for run in source.runs:
        folder = runs / run.run_id
        if not folder.is_dir():
            private_folder(folder)
        place = folder / EVENT_FILES_DIR
        if not place.is_symlink():
            place.mkdir(mode=0o700, exist_ok=True)
        if stat.S_ISDIR(place.lstat().st_mode):
            found.append((run.run_id, run.folder))
    return found
