"""Settings of the scheduler."""

import os
import shlex
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, ValidationInfo, field_validator, model_validator

from mosaic_base import broker_tls
from mosaic_contracts.dashboards import DASHBOARD_IDLE_S
from mosaic_contracts.tracking import WANDB_SERVER, is_proxy
from mosaic_scheduler.proxy import Proxies, standard
from mosaic_servicekit.settings import BrokerUrl, ServiceSettings, default_if_empty

_LOW_OF_RESERVE = 3
_CRITICAL_OF_RESERVE = 1.5
"""Between this and the reserve, which the recorder never fills, workers save their last checkpoints."""


class SchedulerSettings(ServiceSettings):
    """MOSAIC_ROOT, MOSAIC_VENVS and MOSAIC_CPU_LIMIT, in addition to what every service reads."""

    root: Path = Path()
    """The checkout: its `services/worker_*/worker.toml` are the workers that come with MOSAIC."""
    venvs: Path | None = None
    """Environments, `<room>/bin/python`; default `var/venvs` of the checkout."""
    broker_runs_url: BrokerUrl | None = None
    """The broker as runs reach it, where that differs from `broker_url`: a name of this machine that nodes know."""
    cpu_limit: Annotated[int, Field(ge=1)] | None = None
    """Cores the queue may give away; default all that this process may use."""

    disk_low_bytes: Annotated[int, Field(ge=0)] | None = None
    """Free bytes below which new runs wait; default: three times `disk_reserve_bytes`."""
    disk_critical_bytes: Annotated[int, Field(ge=0)] | None = None
    """Free bytes below which runs are asked to stop; default: one and a half times `disk_reserve_bytes`."""

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

    placement: Literal["process", "docker", "slurm", "ray"] = "process"
    """`process`: runs are processes of this machine; `docker`: containers of their workers' images; `slurm` and `ray`:
    jobs of a cluster."""
    node_home: Annotated[str, Field(pattern=r"^(/[^\x00]*)?$")] = ""
    """Folder on a cluster's nodes for runs that share nothing with this machine, e.g. `/tmp/mosaic`; default:
    MOSAIC_HOME is the same folder on all of them."""
    slurm_partition: str = ""
    """Partition of the jobs; default: the cluster's own default."""
    slurm_account: str = ""
    slurm_qos: str = ""
    slurm_options: str = ""
    """Further options of `sbatch`, as a shell would read them, e.g. `--constraint=a100 --mail-type=FAIL`."""
    slurm_poll_s: Annotated[float, Field(ge=0.2, allow_inf_nan=False)] = 30.0
    """Seconds between two looks at Slurm's queue while runs wait or live."""
    slurm_images: Path | None = None
    """Folder of Apptainer images (`worker_NAME.sif`) in which jobs run, seen by all nodes at the same path; default:
    jobs run in the environments of the nodes."""
    slurm_apptainer: Annotated[str, Field(min_length=1)] = "apptainer"
    """Command of Apptainer on the nodes; `singularity` for SingularityCE."""
    slurm_apptainer_options: str = ""
    """Further options of `apptainer exec`, as a shell would read them, e.g. `--bind /data`."""
    slurm_pending: Annotated[int, Field(ge=1)] = 50
    """Runs that may wait in Slurm's queue at once; the others wait in MOSAIC's."""
    ray_address: Annotated[str, Field(pattern=r"^https?://[^\s/@]+/?$")] = "http://127.0.0.1:8265"
    """Address of the dashboard of a Ray cluster."""
    ray_token: SecretStr | None = None
    """What a Ray cluster with token authentication asks for."""
    ray_poll_s: Annotated[float, Field(ge=0.2, allow_inf_nan=False)] = 10.0
    """Seconds between two lists of Ray's jobs while runs wait or live."""
    engine_url: str | None = None
    """Address of the container engine; default as `DOCKER_HOST` says, else the local socket."""
    engine_network: str = "host"
    """Network of the run containers; they must reach the broker on it."""
    engine_outside_network: str | None = None
    """Network with a way out, for runs that may have internet; default: no run may."""
    engine_volume: str | None = None
    """Named volume that holds MOSAIC_HOME; default: it is a folder of the engine's host."""

    @field_validator(
        *("broker_runs_url", "cpu_limit", "disk_low_bytes", "disk_critical_bytes"),
        *("gpu_share_limit", "dashboard_idle_s", "wandb_base_url"),
        *(
            "slurm_images",
            "slurm_apptainer",
            "slurm_poll_s",
            "slurm_pending",
            "ray_address",
            "ray_token",
            "ray_poll_s",
        ),
        mode="before",
    )
    @classmethod
    def _empty_is_unset_too(cls, value: object, info: ValidationInfo) -> object:
        return default_if_empty(cls, value, info)

    @field_validator("root", "venvs", "slurm_images")
    @classmethod
    def _absolute_too(cls, value: Path | None) -> Path | None:
        return value.absolute() if value is not None else None

    @field_validator("slurm_options")
    @classmethod
    def _can_be_split(cls, value: str) -> str:
        try:
            shlex.split(value)
        except ValueError as error:
            raise ValueError(
                f"cannot be read as a shell reads it ({error}): close the quotes, e.g. `--comment='two words'`"
            ) from error
        return value

    @field_validator("http_proxy", "https_proxy")
    @classmethod
    def _is_proxy(cls, value: SecretStr | None) -> SecretStr | None:
        address = value.get_secret_value() if value is not None else ""
        if address and not is_proxy(address):
            raise ValueError("must be http://HOST:PORT, with NAME:PASSWORD@ before HOST or not")
        return value if address else None

    @model_validator(mode="after")
    def _low_comes_first(self) -> Self:
        if self.low_bytes < self.critical_bytes:
            raise ValueError(
                f"MOSAIC_DISK_LOW_BYTES ({self.low_bytes}) is below MOSAIC_DISK_CRITICAL_BYTES "
                f"({self.critical_bytes}): new runs have to wait before those that go on stop. Raise the first."
            )
        return self

    @property
    def low_bytes(self) -> int:
        """Free bytes below which new runs wait."""
        if self.disk_low_bytes is not None:
            return self.disk_low_bytes
        return self.disk_reserve_bytes * _LOW_OF_RESERVE

    @property
    def critical_bytes(self) -> int:
        """Free bytes below which runs are asked to stop."""
        if self.disk_critical_bytes is not None:
            return self.disk_critical_bytes
        return int(self.disk_reserve_bytes * _CRITICAL_OF_RESERVE)

    @property
    def proxies(self) -> Proxies:
        """How runs with internet go out."""
        return Proxies(self.http_proxy, self.https_proxy)

    @property
    def venvs_folder(self) -> Path:
        """Where the environments are."""
        return self.venvs or self.root / "var" / "venvs"

    @property
    def runs_url(self) -> str:
        """The broker, as runs reach it."""
        return self.url if self.broker_runs_url is None else str(self.broker_runs_url).rstrip("/")

    @property
    def broker_ca_pem(self) -> str:
        """What runs trust of the broker; empty: they speak no TLS, or trust what their system trusts.

        Raises:
            OSError: the file cannot be read.
        """
        is_tls = self.runs_url.startswith(broker_tls.SCHEME)
        return self.broker_ca.read_text() if is_tls and self.broker_ca is not None else ""

    @property
    def cores(self) -> int:
        """Cores the queue may give away."""
        return self.cpu_limit or len(os.sched_getaffinity(0))
