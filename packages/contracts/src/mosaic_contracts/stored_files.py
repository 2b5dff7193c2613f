"""What the store knows of files of runs, in columns: the recorder's answer to the janitor."""

from pydantic import Field

from mosaic_contracts.models import PeerModel


class StoredFilesRequest(PeerModel):
    """Asks for files of runs."""

    run_ids: list[str]


class StoredRunFiles(PeerModel):
    """Files of one run that no event calls deleted. All columns have the same length."""

    run_id: str
    paths: list[str] = Field(default_factory=list)
    kinds: list[str] = Field(default_factory=list)
    types: list[str | None] = Field(default_factory=list)
    """A `FileType`; None: no report has the file."""
    bytes: list[int] = Field(default_factory=list)
    times: list[float | None] = Field(default_factory=list)
    """When it was announced, else its last change, seconds since the epoch."""
    steps: list[int | None] = Field(default_factory=list)
    episodes: list[int | None] = Field(default_factory=list)
    """Episode that a video shows."""
    envs: list[int | None] = Field(default_factory=list)
    means: list[float | None] = Field(default_factory=list)
    """Mean return of a checkpoint."""
    reasons: list[str | None] = Field(default_factory=list)
    """Why a checkpoint was saved."""
    announced: list[bool] = Field(default_factory=list)
    places: list[int] = Field(default_factory=list)
    """Place among all files of its kind that the run ever had, from 0: it stays the same when others are removed."""
    names: list[str | None] = Field(default_factory=list)
    """Paths as the disk has them, in hexadecimal digits, where `paths` has them not."""


class StoredFiles(PeerModel):
    """Files of the first of the requested runs; the others are asked for again."""

    runs: list[StoredRunFiles]
