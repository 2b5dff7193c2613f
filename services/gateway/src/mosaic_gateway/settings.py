"""Settings of the gateway, from the environment (docs/interfaces.md)."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from mosaic_contracts.stack import RUNS_DIR, TELEMETRY_DB, TOKEN_FILE
from mosaic_servicekit.settings import ServiceSettings

TICKET_KEY_FILE = "secrets/tickets.key"
"""Deleting it, and starting again, makes every ticket worthless."""


class GatewaySettings(ServiceSettings):
    """What the gateway reads at start."""

    gateway_port: Annotated[int, Field(ge=1, le=65535)] = 8765
    """Port on 127.0.0.1."""
    allowed_hosts: str = ""
    """Further Host names, comma separated."""

    @property
    def host_names(self) -> list[str]:
        """`allowed_hosts` as a list."""
        return [name.strip() for name in self.allowed_hosts.split(",") if name.strip()]

    @property
    def store_path(self) -> Path:
        """The telemetry store."""
        return self.home / TELEMETRY_DB

    @property
    def token_path(self) -> Path:
        """File of the bearer token."""
        return self.home / TOKEN_FILE

    @property
    def ticket_key_path(self) -> Path:
        """File of the key that signs tickets."""
        return self.home / TICKET_KEY_FILE

    @property
    def runs_dir(self) -> Path:
        """Folder of all run folders."""
        return self.home / RUNS_DIR
