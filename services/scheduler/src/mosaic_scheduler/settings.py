"""Settings of the scheduler."""

import os
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator

from mosaic_servicekit.settings import ServiceSettings


class SchedulerSettings(ServiceSettings):
    """MOSAIC_ROOT, MOSAIC_VENVS and MOSAIC_CPU_LIMIT beside what every service reads."""

    root: Path = Path()
    """The checkout: its `services/worker_*/worker.toml` are the workers that come with MOSAIC."""
    venvs: Path | None = None
    """Environments, `<room>/bin/python`; default `var/venvs` of the checkout."""
    cpu_limit: Annotated[int, Field(ge=1)] | None = None
    """Cores the queue may give away; default all that this process may use."""

    @field_validator("root", "venvs")
    @classmethod
    def _absolute_too(cls, value: Path | None) -> Path | None:
        return value.absolute() if value is not None else None

    @property
    def venvs_folder(self) -> Path:
        """Where the environments are."""
        return self.venvs or self.root / "var" / "venvs"

    @property
    def url(self) -> str:
        """The broker, as services and runs reach it."""
        return str(self.broker_url).rstrip("/")

    @property
    def cores(self) -> int:
        """Cores the queue may give away."""
        return self.cpu_limit or len(os.sched_getaffinity(0))
