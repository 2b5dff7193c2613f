"""Settings of the recorder, from the environment."""

from pathlib import Path

from mosaic_contracts.stack import TELEMETRY_DB
from mosaic_servicekit.settings import ServiceSettings


class RecorderSettings(ServiceSettings):
    """What every service reads; the recorder needs no more."""

    @property
    def store_path(self) -> Path:
        """The telemetry store."""
        return self.home / TELEMETRY_DB
