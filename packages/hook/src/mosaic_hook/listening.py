"""Begins to listen in this process."""

from __future__ import annotations

import sys

from mosaic_hook.imports import ImportWatch
from mosaic_hook.listeners import listeners
from mosaic_hook.reporter import Reporter
from mosaic_hook.settings import read_settings


def listen() -> None:
    """Listen in this process from now on, if its environment says so (`mosaic_hook.settings`).

    A process that cannot report, because the spool's disk is full or its folder is gone, runs on unheard.
    """
    settings = read_settings()
    if settings is None:
        return
    try:
        reporter = Reporter(settings)
    except OSError as error:
        sys.stderr.write(f"MOSAIC: this process is not listened to: {error}\n")
        return
    ImportWatch(listeners(reporter)).install()
