"""What the supervisor writes about its stack, and what the gateway says of it."""

from pydantic import Field

from mosaic_contracts.models import PeerModel
from mosaic_contracts.stack_files import (
    BROKER_DIR,
    BROKER_LOG,
    IMPORTS_DIR,
    LOG_DIR,
    RUNS_DIR,
    SCHEDULER_DB,
    SPARE_FILE,
    STACK_FILE,
    STACK_LOCK,
    TELEMETRY_DB,
    TOKEN_FILE,
    UPLOADS_DIR,
)

__all__ = [
    "BROKER_DIR",
    "BROKER_LOG",
    "IMPORTS_DIR",
    "LOG_DIR",
    "RUNS_DIR",
    "SCHEDULER_DB",
    "SPARE_FILE",
    "STACK_FILE",
    "STACK_LOCK",
    "TELEMETRY_DB",
    "TOKEN_FILE",
    "UPLOADS_DIR",
    "ServiceEntry",
    "StackFile",
    "StackProxies",
    "StackStatus",
]


class ServiceEntry(PeerModel):
    """One process of the embedded stack."""

    name: str
    pid: int | None = None
    state: str
    """starting, up, backing_off, stopped."""
    restarts: int = 0
    last_exit: str | None = None
    log: str
    """Path relative to MOSAIC_HOME."""


class StackFile(PeerModel):
    """`stack.json`, rewritten atomically by the supervisor at every change."""

    v: int = 1
    supervisor_pid: int
    gateway_url: str
    broker_url: str
    monitor_url: str = ""
    """Address of the broker's monitor of an older stack. Now none is opened, for it asks for no credential."""
    started_at: float
    ready: bool = False
    services: list[ServiceEntry] = Field(default_factory=list)


class StackProxies(PeerModel):
    """Proxies of runs with internet access that name none themselves."""

    http: str | None = None
    """Address without name and password; None: no proxy."""
    https: str | None = None


class StackStatus(PeerModel):
    """Answer of `GET /api/v1/stack`: the state of the services."""

    version: str
    ready: bool
    broker: bool
    scheduler: dict[str, object] | None = None
    recorder: dict[str, object] | None = None
    findings: list[str] = Field(default_factory=list)
    """What is wrong and what to do, in words."""
    proxies: StackProxies = Field(default_factory=StackProxies)
