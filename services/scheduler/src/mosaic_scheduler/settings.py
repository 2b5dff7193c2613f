"""Settings of the scheduler."""

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from mosaic_contracts.dashboards import DASHBOARD_IDLE_S
from mosaic_contracts.tracking import WANDB_SERVER, is_proxy
from mosaic_scheduler.proxy import Proxies, standard
from mosaic_servicekit.settings import ServiceSettings, default_if_empty


class SchedulerSettings(ServiceSettings):
    """MOSAIC_ROOT, MOSAIC_VENVS and MOSAIC_CPU_LIMIT, in addition to what every service reads."""

    root: Path = Path()
    """The checkout: its `services/worker_*/worker.toml` are the workers that come with MOSAIC."""
    venvs: Path | None = None
    """Environments, `<room>/bin/python`; default `var/venvs` of the checkout."""
    cpu_limit: Annotated[int, Field(ge=1)] | None = None
    """Cores the queue may give away; default all that this process may use."""

    gpu_share_limit: Annotated[int, Field(ge=1, le=64)] = 4
    """Runs with `gpu_memory_mb` that one GPU takes at most."""
    gpu_helper: Annotated[list[str], Field(min_length=1)] | None = None
    """As JSON: the command that reads the GPUs; default: `mosaic_scheduler.gpus.nvml` in a process of its own."""

    http_proxy: SecretStr | None = Field(default_factory=lambda: standard("HTTP_PROXY"))
    """For runs with internet that name no proxy; default: that of this process, as all programs know it."""
    https_proxy: SecretStr | None = Field(default_factory=lambda: standard("HTTPS_PROXY"))

    wandb_base_url: Annotated[str, Field(pattern=r"^https?://[^\s/@]+[^\s@]*$")] = Field(
        default_factory=lambda: os.environ.get("WANDB_BASE_URL") or WANDB_SERVER
    )
    """W&B server of runs and syncs that name none; default: `WANDB_BASE_URL` of this process, else W&B's own."""

    dashboard_idle_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = DASHBOARD_IDLE_S
    """Seconds without a request after which a TensorBoard ends."""

    placement: Literal["process", "docker"] = "process"
    """`process`: runs are processes of this machine; `docker`: containers of their workers' images."""
    engine_url: str | None = None
    """Address of the container engine; default as `DOCKER_HOST` says, else the local socket."""
    engine_network: str = "host"
    """Network of the run containers; they must reach the broker on it."""
    engine_outside_network: str | None = None
    """Network with a way out, for runs that may have internet; default: no run may."""
    engine_volume: str | None = None
    """Named volume that holds MOSAIC_HOME; default: it is a folder of the engine's host."""

    @field_validator(
        "cpu_limit", "gpu_share_limit", "dashboard_idle_s", "wandb_base_url", mode="before"
    )
    @classmethod
    def _empty_is_unset_too(cls, value: object, info: ValidationInfo) -> object:
        return default_if_empty(cls, value, info)

    @field_validator("root", "venvs")
    @classmethod
    def _absolute_too(cls, value: Path | None) -> Path | None:
        return value.absolute() if value is not None else None

    @field_validator("http_proxy", "https_proxy")
    @classmethod
    def _is_proxy(cls, value: SecretStr | None) -> SecretStr | None:
        address = value.get_secret_value() if value is not None else ""
        if address and not is_proxy(address):
            raise ValueError("must be http://HOST:PORT, with NAME:PASSWORD@ before HOST or not")
        return value if address else None

    @property
    def proxies(self) -> Proxies:
        """How runs with internet go out."""
        return Proxies(self.http_proxy, self.https_proxy)

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
