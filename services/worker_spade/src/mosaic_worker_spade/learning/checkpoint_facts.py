"""Facts that a checkpoint holds in addition to its tables, and the values that they may have."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from mosaic_contracts.fault import fault_place, fault_text
from mosaic_worker_spade.learning.learner import WINDOW

FORMAT = "mosaic.spade.checkpoint"

_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_PositiveShare = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
_Word128 = Annotated[int, Field(ge=0, lt=2**128)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, hide_input_in_errors=True)


class Pcg64(_Strict):
    """Words of the generator."""

    state: _Word128
    inc: _Word128


class GeneratorState(_Strict):
    """State of a numpy PCG64, in numpy's own form."""

    bit_generator: Literal["PCG64"]
    state: Pcg64
    has_uint32: Literal[0, 1]
    uinteger: Annotated[int, Field(ge=0, lt=2**32)]

    @model_validator(mode="after")
    def _has_odd_increment(self) -> Self:
        """An even one is no state that this generator can have."""
        if self.state.inc % 2 == 0:
            raise ValueError("its increment must be odd")
        return self


def _require_generator(text: str) -> str:
    try:
        GeneratorState.model_validate_json(text)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise ValueError(
            f"is no state of a PCG64 ({fault_place(fault)} {fault_text(fault)})"
        ) from error
    return text


_GeneratorText = Annotated[str, AfterValidator(_require_generator)]


class SavedRates(_Strict):
    """Rates of the run that wrote it."""

    alpha: _PositiveShare
    gamma: _Share
    epsilon_start: _Share
    epsilon_end: _Share
    epsilon_decay: _PositiveShare


class CheckpointFacts(_Strict):
    """All of it but the tables."""

    format: Literal["mosaic.spade.checkpoint"]
    version: Literal[1, 2]
    algorithm: str
    environment: str
    world: dict[str, Any]
    map: str
    max_steps: Annotated[int, Field(ge=1, lt=2**63)]
    table_digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    seed: Annotated[int, Field(ge=0)]
    epsilon: _Share
    steps: _Count
    episodes: _Count
    successes: _Count
    recent: Annotated[list[Literal[0, 1]], Field(max_length=WINDOW)]
    ends: list[_Count]
    goals: list[_Count]
    world_generator: _GeneratorText
    choice_generator: _GeneratorText
    is_seeded: bool
    rates: SavedRates
    packages: dict[str, str]

    @model_validator(mode="after")
    def _counts_agree(self) -> Self:
        if not self.successes <= self.episodes <= self.steps:
            raise ValueError(
                "successes, episodes and steps must not exceed each other in this order"
            )
        if len(self.recent) > self.episodes or sum(self.recent) > self.successes:
            raise ValueError("recent must not count more episodes or successes than there were")
        return self
