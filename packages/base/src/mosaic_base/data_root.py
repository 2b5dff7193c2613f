"""Where the data of this machine's own stack lies."""

from collections.abc import Callable, Mapping
from pathlib import Path

HOME_FOLDER = "home"
"""The data root in the user's data folder of MOSAIC."""


def find_data_root(environ: Mapping[str, str], user_folder: Callable[[], Path]) -> Path:
    """Return the data root, which need not exist.

    MOSAIC_HOME, else `var` of the checkout; where no checkout is named, `var` of the current folder if there is one,
    else `home` in the user's data folder of MOSAIC, as an installed `mosaic` has it.

    Args:
        environ: environment variables.
        user_folder: gives the user's data folder of MOSAIC; called only where nothing else says it.
    """
    if home := environ.get("MOSAIC_HOME"):
        return Path(home).expanduser().absolute()
    if root := environ.get("MOSAIC_ROOT"):
        return Path(root) / "var"
    if (here := Path.cwd() / "var").is_dir():
        return here
    return user_folder() / HOME_FOLDER
