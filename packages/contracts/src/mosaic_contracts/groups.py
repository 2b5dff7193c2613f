"""Groups: runs that are started together, one for each combination of seeds, environments and parameters."""

from itertools import product
from typing import Annotated, Any

from pydantic import AwareDatetime, Field, field_validator, model_validator

from mosaic_contracts.compat import Self
from mosaic_contracts.field_checks import not_a_bool, without_nul
from mosaic_contracts.group_words import FAILED_STATES, GROUP_ID_PATTERN, MAX_GROUP_RUNS, GroupKind
from mosaic_contracts.models import PeerModel, UserModel
from mosaic_contracts.run_search import short_parameter
from mosaic_contracts.spec import GivenParameter, Name
from mosaic_contracts.states import RunState
from mosaic_contracts.worker import Finding

__all__ = [
    "GROUP_ID_PATTERN",
    "MAX_GROUP_RUNS",
    "GroupKind",
    "GroupPlan",
    "GroupRetry",
    "GroupSpec",
    "GroupView",
]

Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]


class GroupSpec(UserModel):
    """Request for a group. Its runs are all combinations of what is listed; a list that is empty is no axis."""

    run: dict[str, Any]
    """Fields of a RunSpec that all runs have. Lists below take the place of its seed, environment and parameters."""
    seeds: Annotated[list[Seed], Field(max_length=MAX_GROUP_RUNS)] = Field(default_factory=list)
    environments: Annotated[list[Name], Field(max_length=100)] = Field(default_factory=list)
    parameters: dict[
        str, Annotated[list[GivenParameter], Field(min_length=1, max_length=MAX_GROUP_RUNS)]
    ] = Field(default_factory=dict)
    """Values of parameters by name."""
    name: Name | None = None
    """Display name; None: algorithm, environment and what the runs differ in."""

    @field_validator("seeds", mode="before")
    @classmethod
    def _refuse_bools(cls, value: object) -> object:
        return [not_a_bool(seed) for seed in value] if isinstance(value, list) else value

    @field_validator("name")
    @classmethod
    def _refuse_nul(cls, value: str | None) -> str | None:
        return without_nul(value)

    @model_validator(mode="after")
    def _check_axes(self) -> Self:
        for where, values in self._axes():
            seen = [value for place, value in enumerate(values) if _is_among(value, values[:place])]
            if seen:
                raise ValueError(f"{where} has {seen[0]!r} twice; each value makes a run")
        if self.size > MAX_GROUP_RUNS:
            raise ValueError(
                f"{self.size:,} runs are more than the {MAX_GROUP_RUNS:,} that a group may have"
            )
        return self

    @property
    def size(self) -> int:
        """Number of runs."""
        number = 1
        for _, values in self._axes():
            number *= max(1, len(values))
        return number

    def specs(self) -> list[dict[str, Any]]:
        """Return the spec of each run, as a user would send it, in the order in which they start.

        The first seed of all combinations comes first, so that each of them soon has a result.
        """
        fixed = self.run.get("parameters")
        seeds: list[Any] = [*self.seeds] or [None]
        environments: list[Any] = [*self.environments] or [None]
        choices = [[(name, value) for value in values] for name, values in self.parameters.items()]
        found = []
        for seed, environment, *chosen in product(seeds, environments, *choices):
            spec = dict(self.run)
            if seed is not None:
                spec["seed"] = seed
            if environment is not None:
                spec["environment"] = environment
            if chosen and (
                fixed is None or isinstance(fixed, dict)
            ):  # what else it is, the spec's model says
                spec["parameters"] = {**(fixed or {}), **dict(chosen)}
            found.append(spec)
        return found

    def title(self) -> str:
        """Return the name of the group, made of what its runs have in common and differ in if the user gave none."""
        if self.name is not None:
            return self.name
        many = len(self.environments) > 1
        where = "" if many else str([*self.environments, self.run.get("environment")][0])
        words = f"{str(self.run.get('algorithm'))[:80]} {where[:80]}".strip()
        lists = [(name, values) for name, values in self.parameters.items() if len(values) > 1]
        axes = [f"{len(self.environments)} environments"] if many else []
        axes += [f"{len(values)} {short_parameter(name)}" for name, values in lists]
        axes += [_seeds_text(self.seeds)] if self.seeds else []
        return f"{words}: {' × '.join(axes)}"[:200] if axes else words

    def _axes(self) -> list[tuple[str, list[Any]]]:
        named = [(f"parameters.{name}", list(values)) for name, values in self.parameters.items()]
        return [("seeds", list(self.seeds)), ("environments", list(self.environments)), *named]


class GroupPlan(PeerModel):
    """What a start of a group would do. Nothing was started."""

    ok: bool
    runs: int = 0
    expected_s: float | None = None
    """Seconds until all have ended, by past runs and by how many run at once, if no other run waits; None: there is
    no past run to judge by."""
    name: str = ""
    findings: list[Finding] = Field(default_factory=list)
    names: list[str] = Field(default_factory=list)
    """What sets each run apart, in the order in which they start."""


class GroupRetry(UserModel):
    """Body of `POST /groups/{group_id}/retry`."""

    cancelled: bool = False
    """Whether runs that a user stopped are started again, too."""


class GroupView(PeerModel):
    """A group as far as it is, from its runs. A sweep is a group, too: the runs of its trials are its runs."""

    group_id: str
    """A sweep has the id of its run."""
    kind: GroupKind
    name: str
    created_at: AwareDatetime
    worker: str
    algorithm: str
    environments: list[str]
    total: int | None
    """Number of combinations; of a sweep, of trials, None if only time limits it."""
    counts: dict[RunState, int] = Field(default_factory=dict)
    """Number of runs in each state. If a combination was tried again, its newest run counts."""
    run_ids: list[str] = Field(default_factory=list)
    """The runs that are counted, in the order of their combinations."""
    deleted: bool = False
    """Whether all of its runs are deleted."""
    spec: dict[str, Any] | None = None
    """The GroupSpec; None for a sweep."""
    best_return: float | None = None
    """Best return of an episode in any of its runs."""
    mean_return: float | None = None
    """Mean over its runs of the mean of the last 20 returns."""

    @property
    def done(self) -> int:
        """Number of runs that succeeded."""
        return self.counts.get(RunState.SUCCEEDED, 0)

    @property
    def failed(self) -> int:
        """Number of runs that failed, crashed, timed out or were interrupted."""
        return sum(self.counts.get(state, 0) for state in FAILED_STATES)

    @property
    def stopped(self) -> int:
        """Number of runs that a user stopped."""
        return self.counts.get(RunState.CANCELLED, 0)

    @property
    def live(self) -> int:
        """Number of runs that have not ended."""
        return sum(number for state, number in self.counts.items() if not state.is_final)


def _is_among(value: object, others: list[Any]) -> bool:
    return any(
        value == other and isinstance(value, bool) == isinstance(other, bool) for other in others
    )


def _seeds_text(seeds: list[int]) -> str:
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    return f"{len(seeds)} seeds"
