"""What a user may change of a run after it was submitted."""

from typing import Annotated, Any

from pydantic import AfterValidator, Field, StringConstraints, field_validator, model_validator

from mosaic_contracts.compat import Self
from mosaic_contracts.id_fields import RunIdField
from mosaic_contracts.models import UserModel
from mosaic_contracts.spec import Name, Note, Priority, Tags, not_a_bool, without_nul
from mosaic_contracts.storage import ProfileName

PinnedPath = Annotated[
    str, StringConstraints(min_length=1, max_length=4096), AfterValidator(without_nul)
]
"""A file, relative to the folder of its run."""


class RunPatch(UserModel):
    """Body of `PATCH /runs/{id}`. Fields that are absent stay as they are."""

    name: Name | None = None
    tags: Tags | None = None
    """The complete new list of tags."""
    note: Note | None = None
    dry_run: Note | None = None
    """See `RunRecord.dry_run`."""
    pinned: bool | None = None
    """See `RunRecord.pinned`."""
    pinned_files: Annotated[list[PinnedPath], Field(max_length=1000)] | None = None
    """The complete new list of `RunRecord.pinned_files`."""
    storage_profile: ProfileName | None = None
    """See `RunRecord.storage_profile`; null: the default profile again."""

    @field_validator("name", "note", "dry_run")
    @classmethod
    def _refuse_nul(cls, value: str | None) -> str | None:
        return without_nul(value)

    @property
    def given(self) -> dict[str, Any]:
        """Fields that change, with their new values."""
        found = self.model_dump(exclude_none=True)
        if "storage_profile" in self.model_fields_set:
            found["storage_profile"] = self.storage_profile
        return found


class QueuePatch(UserModel):
    """Body of `PATCH /runs/{id}/queue`, for a run that waits."""

    hold: bool | None = None
    """True: do not start it; False: release it."""
    priority: Priority | None = None
    before: RunIdField | None = None
    """Place the run right before this waiting run, and take over its priority."""
    after: RunIdField | None = None

    @field_validator("priority", mode="before")
    @classmethod
    def _refuse_bool(cls, value: object) -> object:
        return not_a_bool(value)

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if sum(place is not None for place in (self.priority, self.before, self.after)) > 1:
            raise ValueError("give one of priority, before and after")
        return self


class CloneRequest(UserModel):
    """Body of `POST /runs/{id}/clone`: a new run with changed fields, whose parent is this run."""

    overrides: dict[str, Any] = Field(default_factory=dict)
    """Fields of a RunSpec. `parameters` is merged name by name, where null takes one away; others are replaced."""


class PlayRequest(UserModel):
    """Body of `POST /runs/{id}/play`: a run that shows what this run has learned, in the same world, with this run
    as its parent."""

    checkpoint: str | None = None
    """`best`, `last`, or a path in the run's folder, e.g. `checkpoints/final.npz`; None: the newest checkpoint."""
    overrides: dict[str, Any] = Field(default_factory=dict)
    """Fields of a RunSpec, as in a CloneRequest: `seed`, `episodes`, `pace`, `record`; `kind` may be `evaluate`."""
