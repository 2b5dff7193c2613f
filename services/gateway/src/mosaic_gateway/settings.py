"""Settings of the gateway, from the environment (docs/reference/environment.md)."""

from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from mosaic_contracts.stack import RUNS_DIR, TELEMETRY_DB, TOKEN_FILE, UPLOADS_DIR
from mosaic_servicekit.settings import OptionalPath, ServiceSettings

LOOPBACK = IPv4Address("127.0.0.1")
OWN_CERTIFICATE_FILE = "secrets/gateway.crt"
OWN_KEY_FILE = "secrets/gateway.key"
TICKET_KEY_FILE = "secrets/tickets.key"
"""Deleting it, and starting again, makes every ticket worthless."""


class GatewaySettings(ServiceSettings):
    """What the gateway reads at start."""

    gateway_port: Annotated[int, Field(ge=1, le=65535)] = 8765
    """Port of the plain door: HTTP on loopback, for this machine; on `bind` only where `behind` says why."""
    tls: Literal["", "self"] = ""
    """`self`: open the TLS door with a certificate of the gateway's own, made at first start."""
    tls_cert: OptionalPath = None
    """Certificate (PEM, with its chain); with `tls_key` it opens the TLS door."""
    tls_key: OptionalPath = None
    tls_port: Annotated[int, Field(ge=1, le=65535)] = 8443
    """Port of the TLS door: HTTPS on `bind`."""
    bind: IPv4Address | IPv6Address = LOOPBACK
    """Address to listen on. Beyond loopback it takes TLS, or a word on what stands before it."""
    behind: Literal["", "container", "tunnel", "proxy"] = ""
    """What keeps plain HTTP on `bind` from being read or reached by others: a container whose port is published on
    loopback only, an encrypted tunnel, or a proxy that speaks TLS."""
    allowed_hosts: str = ""
    """Further Host names, comma separated; a certificate of the gateway's own names them, too."""

    @model_validator(mode="after")
    def _not_in_the_open(self) -> Self:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("MOSAIC_TLS_CERT and MOSAIC_TLS_KEY belong together: set both or none")
        if self.tls and self.tls_cert:
            raise ValueError(
                "MOSAIC_TLS=self makes a certificate and MOSAIC_TLS_CERT gives one: set one of the two"
            )
        if not (self.bind.is_loopback or self.tls_pair or self.behind):
            raise ValueError(
                f"MOSAIC_BIND={self.bind} would send the token in the clear: set MOSAIC_TLS=self, or give "
                "MOSAIC_TLS_CERT and MOSAIC_TLS_KEY, or say with MOSAIC_BEHIND=tunnel, proxy or container what "
                "stands before it"
            )
        if self.tls_pair and self.tls_port == self.gateway_port:
            raise ValueError(
                f"MOSAIC_TLS_PORT and MOSAIC_GATEWAY_PORT are both {self.tls_port}: set one to another"
            )
        return self

    @property
    def plain_bind(self) -> IPv4Address | IPv6Address:
        """Address of the plain door."""
        return self.bind if self.behind or self.bind.is_loopback else LOOPBACK

    @property
    def tls_pair(self) -> tuple[Path, Path] | None:
        """Certificate and key, when there is a TLS door."""
        if self.tls:
            return self.home / OWN_CERTIFICATE_FILE, self.home / OWN_KEY_FILE
        return (self.tls_cert, self.tls_key) if self.tls_cert and self.tls_key else None

    @property
    def host_names(self) -> list[str]:
        """`allowed_hosts` as a list, and the address that is listened on where it is one."""
        names = [name.strip().strip("[]") for name in self.allowed_hosts.split(",")]
        if not self.bind.is_unspecified:
            names.append(str(self.bind))
        return [name for name in names if name]

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
    def uploads_dir(self) -> Path:
        """Folder of files that are being imported."""
        return self.home / UPLOADS_DIR

    @property
    def runs_dir(self) -> Path:
        """Folder of all run folders."""
        return self.home / RUNS_DIR
