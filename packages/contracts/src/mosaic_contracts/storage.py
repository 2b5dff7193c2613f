"""Storage profiles: what is kept of ended runs, and for how long. `storage_reports` has what is said of it."""

import math
import re
from typing import Annotated

from pydantic import BeforeValidator, Field, StringConstraints, field_validator, model_validator

from mosaic_contracts.compat import Self
from mosaic_contracts.field_checks import not_a_bool
from mosaic_contracts.models import UserModel
from mosaic_contracts.storage_words import PROTECTED_KINDS, STEPS, WHOLE_KINDS, RuleScope

_UNITS = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
}
_SIZE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*$")
DEFAULT_GRACE_HOURS = 24.0


def read_size(value: object) -> object:
    """Read a size that may have a unit.

    Args:
        value: bytes, or a text like `50 GB` or `1.5 TiB`.

    Returns:
        The bytes; what is no such text is returned as it is.

    Raises:
        ValueError: a text that is no size.
    """
    if not isinstance(value, str):
        return not_a_bool(value)
    found = _SIZE.match(value)
    if found is None or found[2].upper() not in _UNITS:
        raise ValueError("write bytes, or a number with KB, MB, GB, TB, KiB, MiB, GiB or TiB")
    size = float(found[1]) * _UNITS[found[2].upper()]
    if not math.isfinite(size):
        raise ValueError("is too large")
    return int(size)


ByteSize = Annotated[int, BeforeValidator(read_size), Field(ge=0, le=2**60)]
"""Bytes; in a file also `50 GB`."""
Count = Annotated[int, BeforeValidator(not_a_bool), Field(ge=0, le=1_000_000)]
ProfileName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
FileKind = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_.-]{0,63}$")]


class RetentionRule(UserModel):
    """Which files of one kind go.

    A file goes when it is beyond a limit (`max_count`, `max_age_days`, `max_bytes`) and is not kept by a `keep_...`. A
    rule without a limit removes all that it does not keep.
    """

    kind: FileKind
    """A kind of the manifest: `checkpoint`, `video`, `tensorboard`, `wandb`, `study`, `log`, `other`, ..."""
    scope: RuleScope = RuleScope.RUN
    """What is counted together. For `tensorboard`, `wandb`, `study` and `log` all files of one run count as one."""
    keep_last: Count | None = None
    """Number of newest ones that stay."""
    keep_best: Count | None = None
    """Number of checkpoints with the highest mean returns that stay."""
    keep_every: Annotated[int, BeforeValidator(not_a_bool), Field(ge=1, le=1_000_000)] | None = None
    """Every n-th stays, counted from the oldest one."""
    max_count: Count | None = None
    """More than so many are beyond the limit, the least valuable first."""
    max_age_days: Annotated[float, Field(ge=0, le=36_500, allow_inf_nan=False)] | None = None
    """Older ones are beyond the limit. The age counts from the run's end."""
    max_bytes: ByteSize | None = None
    """What is larger together is beyond the limit, the least valuable first."""
    rebuildable_only: bool = False
    """Whether only videos go that can be made again from recorded steps."""

    @field_validator("kind")
    @classmethod
    def _may_be_named(cls, value: str) -> str:
        if value in PROTECTED_KINDS:
            raise ValueError(f"files of kind {value} are never removed")
        if value == STEPS:
            raise ValueError("steps are thinned by steps_every of the profile")
        return value

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.keep_best is not None and self.kind != "checkpoint":
            raise ValueError("keep_best is for checkpoints")
        if self.keep_every is not None and self.kind in WHOLE_KINDS:
            raise ValueError(f"all {self.kind} files of a run count as one; write max_count")
        if self.rebuildable_only and self.kind != "video":
            raise ValueError("rebuildable_only is for videos")
        keeps = (self.keep_last, self.keep_best, self.keep_every)
        if not self.has_limit and all(keep is None for keep in keeps):
            raise ValueError(
                "the rule would remove every file of its kind; if that is meant, write max_count: 0"
            )
        return self

    @property
    def has_limit(self) -> bool:
        """Whether there is a limit; otherwise everything is beyond it."""
        limits = (self.max_count, self.max_age_days, self.max_bytes)
        return any(limit is not None for limit in limits)

    @property
    def text(self) -> str:
        """The rule in words, e.g. `checkpoint: keep last 1, keep best 1, max age 30 days`."""
        parts = [
            f"{word} {value:g}{unit}"
            for word, value, unit in (
                ("keep last", self.keep_last, ""),
                ("keep best", self.keep_best, ""),
                ("keep every", self.keep_every, ""),
                ("max count", self.max_count, ""),
                ("max age", self.max_age_days, " days"),
                ("max", self.max_bytes, " bytes"),
            )
            if value is not None
        ]
        of = "" if self.scope is RuleScope.RUN else f" of each {self.scope.value}"
        of = " of all runs" if self.scope is RuleScope.ALL else of
        more = " (only what can be rebuilt)" if self.rebuildable_only else ""
        return f"{self.kind}{of}: {', '.join(parts)}{more}"


class StorageProfile(UserModel):
    """What is kept of the runs that have this profile."""

    rules: Annotated[list[RetentionRule], Field(max_length=64)] = Field(default_factory=list)
    steps_every: Annotated[int, BeforeValidator(not_a_bool), Field(ge=1)] | None = None
    """After the run's end, keep the steps of every n-th episode only. Episodes and metrics stay for ever. None: all."""
    budget_bytes: ByteSize | None = None
    """Bytes that all runs with this profile may have on disk; beyond it files go, the least valuable first, whatever
    the rules keep. Checkpoints that are the best or newest of their run stay. None: no limit."""
    grace_hours: Annotated[float, Field(ge=0, le=24 * 365, allow_inf_nan=False)] = (
        DEFAULT_GRACE_HOURS
    )
    """Hours that removed files rest in the trash, unless space is short."""


class StorageProfiles(UserModel):
    """Content of `storage_profiles.yaml`."""

    automatic: bool = True
    """Whether rules are applied by themselves: after each run's end, once an hour, and when a disk is nearly full."""
    default: ProfileName = "default"
    """Profile of runs that name none."""
    profiles: dict[ProfileName, StorageProfile] = Field(default_factory=dict)
    """Profiles by name. They are added to the ones that ship, and replace those of the same name."""

    @model_validator(mode="after")
    def _default_is_there(self) -> Self:
        self.profiles = {**shipped_profiles(), **self.profiles}
        if self.default not in self.profiles:
            known = ", ".join(self.profiles)
            raise ValueError(f"default: there is no profile {self.default!r}; known are {known}")
        return self


def shipped_profiles() -> dict[str, StorageProfile]:
    """Return the profiles that come with MOSAIC, by name.

    `default` removes videos that can be made again, a month after the end of their run. `lean` is for small disks.
    `keep_all` removes nothing.
    """
    return {
        "default": StorageProfile(
            rules=[RetentionRule(kind="video", keep_last=5, max_age_days=30, rebuildable_only=True)]
        ),
        "lean": StorageProfile(
            rules=[
                RetentionRule(kind="video", max_count=3),
                RetentionRule(kind="checkpoint", keep_best=1, keep_last=1, keep_every=5),
                RetentionRule(kind="tensorboard", scope=RuleScope.GROUP, max_count=20),
                RetentionRule(kind="wandb", scope=RuleScope.GROUP, max_count=20),
                RetentionRule(kind="log", max_age_days=90),
            ],
            steps_every=10,
        ),
        "keep_all": StorageProfile(),
    }
