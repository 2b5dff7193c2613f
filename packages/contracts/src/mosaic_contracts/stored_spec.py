"""A spec as a run folder, the store or an archive keeps it.

A module of its own: every worker reads its spec at its start, and needs none of the models of `mosaic_contracts.runs`.
"""

from pydantic import Field, field_validator

from mosaic_contracts.spec import ParameterValue, RunSpec


class StoredSpec(RunSpec):
    """A spec read from a file. Unknown fields are kept, so that runs of a newer version stay readable."""

    model_config = {**RunSpec.model_config, "extra": "allow"}

    parameters: dict[str, ParameterValue] = Field(default_factory=dict)
    alerts: list[str] = Field(default_factory=list)

    @field_validator("algorithm", "environment", "name", "note", "consent")
    @classmethod
    def _refuse_nul(cls, value: str | None) -> str | None:
        """Take what an older version let pass."""
        return value
