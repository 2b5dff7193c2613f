"""Secrets and tickets: what is given without being shown."""

from typing import Annotated

from pydantic import AwareDatetime, Field, SecretStr, StringConstraints

from mosaic_contracts.models import PeerModel, UserModel
from mosaic_contracts.spec import SecretName


class SecretValue(UserModel):
    """Body of `PUT /secrets/{name}`. It is never logged and never returned."""

    value: Annotated[SecretStr, Field(min_length=1, max_length=65_536)]


class SecretEntry(PeerModel):
    """Name and time of a secret, without its value."""

    name: SecretName
    updated_at: AwareDatetime


class SecretEntries(PeerModel):
    """Answer of `GET /secrets`."""

    secrets: list[SecretEntry]


class TicketRequest(UserModel):
    """Body of `POST /tickets`: ask for a link for programs that cannot send a bearer token (browser, video player)."""

    path: Annotated[str, StringConstraints(min_length=1, max_length=4096)]
    """Path and query below `/api/v1` that the ticket opens with GET, e.g. `/runs/<id>/artifacts/videos/1.mp4`."""
    ttl_s: Annotated[float, Field(gt=0, le=86_400)] = 300


class Ticket(PeerModel):
    """A link that opens one address until it expires."""

    url: str
    """Address relative to the gateway's, signature included."""
    expires_at: AwareDatetime
