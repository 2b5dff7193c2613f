"""`version`."""

import sys

from mosaic_cli import option
from mosaic_cli.output import emit, out
from mosaic_contracts import VERSION


def version(json: option.Json = False) -> None:
    """Print the version."""
    python = ".".join(map(str, sys.version_info[:3]))
    emit({"version": VERSION, "python": python}) if json else out.print(
        f"MOSAIC {VERSION}, Python {python}"
    )
