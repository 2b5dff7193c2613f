"""The settings of a process that is listened to, in its environment."""

from __future__ import annotations

import json
import os
from typing import Mapping, NamedTuple

VARIABLE = "MOSAIC_HOOK"
"""Environment variable with the settings as JSON. Absent or broken: nothing is listened to."""
LEVELS = ("metrics", "episodes", "replay", "full")


class HookSettings(NamedTuple):
    """How much is recorded of a script, and where."""

    spool: str
    """Folder to which every process of the script appends its lines."""
    record: str = "replay"
    """Recording level, as in the spec of a run: one of `LEVELS`."""
    replay_every: int = 1
    """Steps are recorded of every n-th episode."""

    @property
    def has_episodes(self) -> bool:
        """Whether the return and length of each episode are recorded."""
        return self.record != "metrics"

    @property
    def has_steps(self) -> bool:
        """Whether each step is recorded."""
        return self.record in ("replay", "full")

    @property
    def has_observations(self) -> bool:
        """Whether each observation is recorded."""
        return self.record == "full"

    def text(self) -> str:
        """Return the value of `VARIABLE`."""
        return json.dumps(self._asdict())


def read_settings(environ: Mapping[str, str] | None = None) -> HookSettings | None:
    """Return the settings of this process; None: there are none, or they cannot be read.

    Args:
        environ: environment variables; None: those of the process.
    """
    text = (os.environ if environ is None else environ).get(VARIABLE)
    if not text:
        return None
    try:
        settings = HookSettings(**json.loads(text))
    except (ValueError, TypeError):
        return None
    is_usable = settings.record in LEVELS and os.path.isdir(settings.spool)
    return settings if is_usable else None
