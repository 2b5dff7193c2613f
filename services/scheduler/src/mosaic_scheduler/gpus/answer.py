"""What the helper process may answer, validated where it enters the scheduler."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from mosaic_contracts.fault import fault_place, fault_text

_LARGEST_PID = 2**31 - 1
_SHOWN_FAULTS = 3

Uuid = Annotated[str, Field(pattern=r"^[!-+.-~-]{1,100}$")]
"""Printable, without spaces and commas: it goes into CUDA_VISIBLE_DEVICES."""
Index = Annotated[int, Field(ge=0, lt=2**15)]
Bytes = Annotated[int, Field(ge=0, lt=2**63)]
Words = Annotated[str, Field(max_length=2000)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class HelperAnswerInvalid(ValueError):
    """The helper's answer cannot be used; the message says why."""


class _AnswerPart(BaseModel):
    """Types are taken as they are: a number as text is no number. Unknown fields may be newer."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, defer_build=True)


class ProcessEntry(_AnswerPart):
    """A process on a device."""

    pid: Annotated[int, Field(ge=0, le=_LARGEST_PID)]
    kind: Literal["compute", "graphics"]
    memory_bytes: Bytes | None


class DeviceEntry(_AnswerPart):
    """A GPU that is not divided, or a MIG slice."""

    uuid: Uuid
    index: Index
    name: Annotated[str, Field(max_length=200)]
    utilization_percent: Amount | None = None
    memory_used_bytes: Bytes | None = None
    memory_total_bytes: Bytes | None = None
    temperature_c: Annotated[float, Field(allow_inf_nan=False)] | None = None
    power_w: Amount | None = None
    processes: tuple[ProcessEntry, ...] = ()
    card: Uuid | None = None


class LostEntry(_AnswerPart):
    """A GPU that cannot be read."""

    index: Index
    why: Words


class HelperAnswer(_AnswerPart):
    """One of `absent`, `failed`, or `devices` with `lost`."""

    absent: Words | None = None
    failed: Words | None = None
    devices: tuple[DeviceEntry, ...] | None = None
    lost: tuple[LostEntry, ...] | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        said = (self.absent, self.failed, self.devices)
        if sum(one is not None for one in said) != 1:
            raise ValueError("it must have exactly one of absent, failed and devices")
        if (self.devices is None) != (self.lost is None):
            raise ValueError("devices and lost go together")
        if twice := _doubled([device.uuid for device in self.devices or ()]):
            raise ValueError(f"the uuid {twice} is listed twice")
        return self


def read_answer(line: bytes) -> HelperAnswer:
    """Validate one line of the helper.

    Raises:
        HelperAnswerInvalid: it is no answer.
    """
    try:
        return HelperAnswer.model_validate_json(line)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        words = [f"{fault_place(f) or 'the answer'}: {fault_text(f)}" for f in faults]
        raise HelperAnswerInvalid("; ".join(words[:_SHOWN_FAULTS])) from error


def _doubled(names: Sequence[str]) -> str | None:
    return next((name for number, name in enumerate(names) if name in names[:number]), None)
