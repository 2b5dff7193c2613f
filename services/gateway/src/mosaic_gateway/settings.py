"""Settings of the gateway, from the environment (docs/interfaces.md)."""

from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from mosaic_contracts.stack import RUNS_DIR, TELEMETRY_DB, TOKEN_FILE
from mosaic_servicekit.settings import ServiceSettings

TICKET_KEY_FILE = "secrets/tickets.key"
"""Deleting it, and starting again, makes every ticket worthless."""


class GatewaySettings(ServiceSettings):
    """What the gateway reads at start."""

    gateway_port: Annotated[int, Field(ge=1, le=65535)] = 8765
    """Port on `bind`."""
    bind: IPv4Address | IPv6Address = IPv4Address("127.0.0.1")
    """Address to listen on. Beyond loopback it takes TLS, or a word on what stands before it."""
    tls_cert: Path | None = None
    """Certificate (PEM, with its chain); with `tls_key` the gateway speaks HTTPS."""
    tls_key: Path | None = None
    behind: Literal["", "container", "tunnel", "proxy"] = ""
    """What keeps plain HTTP on `bind` from being read or reached by others: a container whose port is published on
    loopback only, an encrypted tunnel, or a proxy that speaks TLS."""
    allowed_hosts: str = ""
    """Further Host names, comma separated."""

    @model_validator(mode="after")
    def _not_in_the_open(self) -> Self:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("MOSAIC_TLS_CERT and MOSAIC_TLS_KEY go together: give both or none")
        if not (self.bind.is_loopback or self.tls_cert or self.behind):
            raise ValueError(
                f"MOSAIC_BIND={self.bind} would send the token in the clear: give MOSAIC_TLS_CERT and "
                "MOSAIC_TLS_KEY, or say with MOSAIC_BEHIND=tunnel, proxy or container what stands before it"
            )
        return self

    @property
    def tls(self) -> tuple[Path, Path] | None:
        """Certificate and key, when HTTPS is spoken."""
        return (self.tls_cert, self.tls_key) if self.tls_cert and self.tls_key else None

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
