"""The data root as an older version may have left it: folders that other users of the machine could open are closed."""

from pathlib import Path

from mosaic_contracts.stack import RUNS_DIR
from mosaic_servicekit.privacy import close_to_others

_FOLDERS = ("cache", "db", RUNS_DIR)


def close_home(home: Path) -> None:
    """Close what the scheduler owns below `home`, each run's folder too. Blocks: there may be many runs."""
    for folder in (home / name for name in _FOLDERS):
        if folder.is_dir():
            close_to_others(folder)
    runs = home / RUNS_DIR
    for folder in runs.iterdir() if runs.is_dir() else ():
        if folder.is_dir() and not folder.is_symlink():
            close_to_others(folder)
