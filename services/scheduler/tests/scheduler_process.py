"""The scheduler as a process whose waits a test has shortened: `scheduler_process.py`, with `PACE` in its environment.

A wait that is only waited for, such as the silence after which a run is unresponsive, is a constant of a module. `PACE`
names some as JSON, e.g. `{"runs.heartbeats.UNRESPONSIVE_AFTER_S": 3}`; nothing else of the scheduler is changed.
"""

import importlib
import json
import os
import sys
from typing import Any

from mosaic_scheduler.__main__ import main

VARIABLE = "PACE"


def _set(name: str, value: Any) -> None:
    """Replace a constant in its module and wherever it was imported."""
    path, _, constant = name.rpartition(".")
    before = getattr(importlib.import_module(f"mosaic_scheduler.{path}"), constant)
    for module in list(sys.modules.values()):
        is_ours = getattr(module, "__name__", "").startswith("mosaic_scheduler")
        if is_ours and getattr(module, constant, None) is before:
            setattr(module, constant, value)


if __name__ == "__main__":
    for each, seconds in json.loads(os.environ.pop(VARIABLE)).items():
        _set(each, seconds)
    sys.exit(main())
