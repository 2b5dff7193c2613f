"""Texts, histograms and images of a run, as the gateway answers with them."""

from typing import Literal

from pydantic import Field

from mosaic_contracts.models import PeerModel

MediaKind = Literal["text", "histogram", "image"]
MAX_MEDIA_VALUES = 1_000
"""Maximum number of values in one answer."""


class MediaName(PeerModel):
    """Values of one name and kind that a run has."""

    kind: MediaKind
    name: str
    count: int
    """Recorded values."""
    first_step: int | None
    """Lowest step; null where none is known."""
    last_step: int | None


class MediaValue(PeerModel):
    """One value. Only the fields of its kind are set."""

    attempt: int
    seq: int
    step: int | None
    t: float
    """Wall clock of the writer, seconds since the epoch."""
    text: str | None = None
    characters: int | None = None
    """Length of the text before it was cut; null: it is whole."""
    edges: list[float] | None = None
    """Edges of the bins, ascending; one more than there are bins."""
    counts: list[float] | None = None
    path: str | None = None
    """Path of the image in the run's folder, for `GET /runs/{run_id}/artifacts/{path}`."""
    width: int | None = None
    """Pixels."""
    height: int | None = None
    bytes: int | None = None
    caption: str | None = None


class MediaValues(PeerModel):
    """Values of one name, in the order in which they were recorded."""

    kind: MediaKind
    name: str
    count: int
    """Recorded values. Where they are more than `values`, those are spread evenly, with the first and the newest."""
    values: list[MediaValue] = Field(default_factory=list)
