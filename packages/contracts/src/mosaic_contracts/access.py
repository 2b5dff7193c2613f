"""Secrets and tickets: what is given without being shown."""

from typing import Annotated

from pydantic import AwareDatetime, Field, SecretStr, StringConstraints

from mosaic_contracts.models import PeerModel, UserModel
from mosaic_contracts.spec import SecretName


class SecretValue(UserModel):
    """`PUT /secrets/{name}`. Never logged, never given back."""

    value: Annotated[SecretStr, Field(min_length=1, max_length=65_536)]


class SecretEntry(PeerModel):
    """That a secret exists; not what it is."""

    name: SecretName
    updated_at: AwareDatetime


class SecretEntries(PeerModel):
    """`GET /secrets`."""

    secrets: list[SecretEntry]


class TicketRequest(UserModel):
    """`POST /tickets`: a link for what cannot send a bearer token (browser, video player)."""

    path: Annotated[str, StringConstraints(min_length=1, max_length=4096)]
    """Path and query below `/api/v1` that the ticket opens with GET, e.g. `/runs/<id>/artifacts/videos/1.mp4`."""
    ttl_s: Annotated[float, Field(gt=0, le=86_400)] = 300


class Ticket(PeerModel):
    """The link."""

    url: str
    """Relative to the gateway's address, with its signature."""
    expires_at: AwareDatetime
