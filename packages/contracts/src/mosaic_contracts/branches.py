"""Branches: runs that begin at a step of a recorded episode, and go on with a person or a policy (ADR 0017)."""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from mosaic_contracts.field_checks import not_a_bool
from mosaic_contracts.id_fields import RunIdField
from mosaic_contracts.models import PeerModel, UserModel
from mosaic_contracts.replays import PackageDifference, ReplaySource

PLAY_BRANCH = "play.branch"
"""Type of the event with a `BranchRecord`, which a branch records once its beginning is rebuilt."""

_Count = Annotated[int, Field(ge=0, lt=2**62)]
_Actor = Literal["policy", "human"]


class BranchPoint(UserModel):
    """Field `start_from` of a spec: the step of a recorded episode at which a run of kind `play` begins."""

    run_id: RunIdField
    """The run that recorded the episode."""
    episode: _Count
    step: _Count
    """The run goes on after this step; 0: after the reset."""
    env: Annotated[int, Field(ge=0, lt=2**31)] = 0
    attempt: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    """None: the newest attempt that has the episode. The stored spec names it."""
    actor: _Actor | None = None
    """Who is in control at first. None: the policy, where the run has one."""

    @field_validator("episode", "step", "env", "attempt", mode="before")
    @classmethod
    def _refuse_bool(cls, value: object) -> object:
        return not_a_bool(value)

    @property
    def source(self) -> ReplaySource:
        """The episode, as a replay names it."""
        return ReplaySource(
            run_id=self.run_id,
            attempt=self.attempt or 1,
            env=self.env,
            episode=self.episode,
            draws=False,
        )


class ForkRequest(UserModel):
    """Body of `POST /runs/{id}/fork`: a run that goes on from a step of an episode of this run."""

    episode: _Count
    step: _Count
    env: Annotated[int, Field(ge=0, lt=2**31)] = 0
    attempt: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    """None: the newest attempt that has the episode."""
    actor: _Actor = "human"
    """Who is in control at first."""
    checkpoint: str | None = None
    """Whose policy acts: `RUN`, which is its newest checkpoint, or `RUN/PATH`. None: this run's newest, or the one by
    which it plays."""
    overrides: dict[str, Any] = Field(default_factory=dict)
    """Fields of a RunSpec, as in a CloneRequest: `seed`, `episodes`, `pace`, `record`."""

    @field_validator("episode", "step", "env", "attempt", mode="before")
    @classmethod
    def _refuse_bool(cls, value: object) -> object:
        return not_a_bool(value)


class BranchRecord(PeerModel):
    """Data of a `play.branch` event: every step up to the branch was rebuilt and is equal to the recorded one."""

    start_from: BranchPoint
    episode: int
    """Number of the episode in this run. Its first steps are those that were rebuilt."""
    steps: int
    """Steps of the episode before the first one of this run's own. It is above `start_from.step` where an action
    lasts several steps and the branch lies within one."""
    way: str
    """How the reset was rebuilt (`ResetWay`)."""
    episodes_before: int = 0
    """Earlier episodes that were rebuilt first, because the reset needs them. This run has recorded them too."""
    packages: list[PackageDifference] = Field(default_factory=list)
    duration_s: float = 0.0
