"""Sweeps: what a person asks for, and what is known of each trial (ADR 0025).

A sweep is a run of kind `sweep`. Its worker chooses the parameters of trials with Optuna. Each trial is one run, or one
for each of its environments and seeds, whose `parent` is the sweep.
"""

import math
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, field_validator, model_validator

from mosaic_contracts.compat import Self, StrEnum
from mosaic_contracts.field_checks import not_a_bool, plain_parameter, without_nul
from mosaic_contracts.id_fields import RunIdField
from mosaic_contracts.models import PeerModel, UserModel

STUDY_FILE = "study/study.db"
"""Optuna's SQLite file in the folder of a sweep."""
STUDY_INPUT = "inputs/study/study.db"
"""Copy of the earlier study in the folder of a sweep that goes on with another one (`SweepSpec.continues`). The
`-journal` or `-wal` file of that study, if there is one, is copied too."""
SWEEP_WORKER = "sweep"
"""Id of the worker that runs sweeps."""
SWEEP_ALGORITHM = "optuna"
"""Algorithm of that worker. The environment in the spec of a sweep's own run is the first one of its trials."""
SWEEP_TRIAL = "sweep.trial"
"""Type of the event with a `TrialRecord`, which a sweep records at each change of a trial."""
SWEEP_IMPORTANCE = "sweep.importance"
"""Type of the event with a `ParameterImportance`, which a sweep records now and then and at its end."""
MAX_TRIALS = 10_000
MAX_RUNS_OF_TRIAL = 100
"""Maximum number of environments times seeds."""
MAX_DIMENSIONS = 100
_STEP_TOLERANCE = 1e-8
"""As Optuna's."""

SweepValue = Annotated[bool | int | float | str | None, AfterValidator(plain_parameter)]
ParameterName = Annotated[str, StringConstraints(min_length=1, max_length=200)]
_Finite = Annotated[float, Field(allow_inf_nan=False)]
_WholeNumber = Annotated[int, Field(ge=-(2**53), le=2**53)]
_EnvironmentName = Annotated[
    str, StringConstraints(min_length=1, max_length=200), AfterValidator(without_nul)
]
_Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]


class ParameterCondition(UserModel):
    """A parameter is chosen only where another categorical parameter has one of these values."""

    parameter: ParameterName
    values: Annotated[list[SweepValue], Field(min_length=1, max_length=100)]


class FloatRange(UserModel):
    """Numbers from `low` to `high`, both included."""

    type: Literal["float"] = "float"
    low: _Finite
    high: _Finite
    log: bool = False
    """Whether numbers are drawn evenly on a logarithmic scale."""
    step: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Distance between possible values; None: any value. It cannot be combined with `log`."""
    when: ParameterCondition | None = None

    @field_validator("low", "high", "step", mode="before")
    @classmethod
    def _refuse_bool(cls, value: object) -> object:
        return not_a_bool(value)

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_range(self.low, self.high, self.log, self.step is not None)
        return self

    def contains(self, value: object) -> bool:
        """Report whether a trial can have this value."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        if not self.low <= value <= self.high:
            return False
        steps = 0.0 if self.step is None else (value - self.low) / self.step
        return abs(steps - round(steps)) < _STEP_TOLERANCE


class IntRange(UserModel):
    """Whole numbers from `low` to `high`, both included."""

    type: Literal["int"]
    low: _WholeNumber
    high: _WholeNumber
    log: bool = False
    step: Annotated[int, Field(ge=1, le=2**53)] = 1
    """Distance between possible values. It cannot be combined with `log`."""
    when: ParameterCondition | None = None

    @field_validator("low", "high", "step", mode="before")
    @classmethod
    def _refuse_bool(cls, value: object) -> object:
        return not_a_bool(value)

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_range(self.low, self.high, self.log, self.step != 1)
        return self

    def contains(self, value: object) -> bool:
        """Report whether a trial can have this value."""
        if isinstance(value, bool) or not isinstance(value, int):
            return False
        return self.low <= value <= self.high and (value - self.low) % self.step == 0


class Choice(UserModel):
    """One of several values."""

    type: Literal["categorical"]
    choices: Annotated[list[SweepValue], Field(min_length=1, max_length=1_000)]
    when: ParameterCondition | None = None

    @field_validator("choices")
    @classmethod
    def _check_choices(cls, value: list[Any]) -> list[Any]:
        # True equals 1 in Python, and both are values of parameters.
        if len({(type(choice), choice) for choice in value}) < len(value):
            raise ValueError("must not contain a value twice")
        return value

    def contains(self, value: object) -> bool:
        """Report whether a trial can have this value."""
        return any(type(each) is type(value) and each == value for each in self.choices)


Dimension = Annotated[FloatRange | IntRange | Choice, Field(discriminator="type")]


def count_values(dimension: FloatRange | IntRange | Choice) -> int:
    """Return the number of possible values of a parameter with steps or choices."""
    if isinstance(dimension, Choice):
        return len(dimension.choices)
    if isinstance(dimension, IntRange):
        return (dimension.high - dimension.low) // dimension.step + 1
    if dimension.step is None:
        raise ValueError("a range without a step has no number of values")
    span = Decimal(str(dimension.high)) - Decimal(str(dimension.low))
    return int(span // Decimal(str(dimension.step))) + 1


class Direction(StrEnum):
    """Whether a greater or a smaller value is better."""

    MAXIMIZE = "maximize"
    MINIMIZE = "minimize"


class CurveValue(StrEnum):
    """How the curve of a metric in one run becomes one value."""

    LAST = "last"
    """Mean of the last `Objective.last` points."""
    BEST = "best"
    """The best point."""
    AREA = "area"
    """Mean over steps: the area below the curve by the trapezoidal rule, divided by the steps that it spans."""


class RunsValue(StrEnum):
    """How the values of a trial's runs, which differ in environment and seed, become one value."""

    IQM = "iqm"
    """Mean of the middle half (Agarwal et al. 2021, "Deep Reinforcement Learning at the Edge of the Statistical
    Precipice"); with fewer than four runs the mean."""
    MEAN = "mean"
    MEDIAN = "median"
    WORST = "worst"


class Objective(UserModel):
    """What a sweep optimises."""

    metric: Annotated[str, StringConstraints(min_length=1, max_length=200)] = (
        "charts/episodic_return"
    )
    direction: Direction = Direction.MAXIMIZE
    value: CurveValue = CurveValue.LAST
    last: Annotated[int, Field(ge=1, le=100_000)] = 20
    """Number of points that `last` averages."""
    over_runs: RunsValue = RunsValue.IQM


class SamplerName(StrEnum):
    """Optuna's sampler that chooses parameters."""

    TPE = "tpe"
    CMA_ES = "cmaes"
    RANDOM = "random"
    GRID = "grid"
    NSGA2 = "nsga2"


class PrunerName(StrEnum):
    """Optuna's pruner that stops trials early."""

    NONE = "none"
    MEDIAN = "median"
    ASHA = "asha"
    HYPERBAND = "hyperband"


class Sampler(UserModel):
    """How parameters are chosen."""

    name: SamplerName = SamplerName.TPE
    seed: _Seed | None = None
    """Seed of the sampler; None: another at each sweep. Trials in parallel end in no fixed order, so that a seed
    repeats a sweep only with `parallel` 1."""
    startup_trials: Annotated[int, Field(ge=1, le=MAX_TRIALS)] = 10
    """Random trials before `tpe` and `cmaes` learn from results."""
    population: Annotated[int, Field(ge=2, le=1_000)] = 20
    """Trials in a generation of `nsga2`."""

    @field_validator("seed", "startup_trials", "population", mode="before")
    @classmethod
    def _refuse_bool(cls, value: object) -> object:
        return not_a_bool(value)


class Pruner(UserModel):
    """When a trial is stopped early. Values are compared at equal environment steps."""

    name: PrunerName = PrunerName.NONE
    min_steps: Annotated[int, Field(ge=1, le=2**53)] | None = None
    """Environment steps before a trial can be pruned; None: a tenth of the trial's steps."""
    reduction: Annotated[int, Field(ge=2, le=100)] = 3
    """For `asha` and `hyperband`: one in this many trials goes on at each rung."""
    startup_trials: Annotated[int, Field(ge=0, le=MAX_TRIALS)] = 5
    """For `median`: number of trials that must have ended before one is pruned."""

    @field_validator("min_steps", "reduction", "startup_trials", mode="before")
    @classmethod
    def _refuse_bool(cls, value: object) -> object:
        return not_a_bool(value)


class Budget(UserModel):
    """When a sweep ends."""

    trials: Annotated[int, Field(ge=1, le=MAX_TRIALS)] = 20
    """Number of trials, pruned and failed ones included."""
    steps: Annotated[int, Field(ge=1, le=2**62)] | None = None
    """Environment steps of all trials together, after which no further trial starts; None: no limit."""
    wall_time_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Seconds of the sweep's process, of all attempts together, after which no further trial starts; None: no
    limit."""

    @field_validator("trials", "steps", "wall_time_s", mode="before")
    @classmethod
    def _refuse_bool(cls, value: object) -> object:
        return not_a_bool(value)


class SweepSpec(UserModel):
    """Body of `POST /sweeps`, and field `sweep` of the spec of a run of kind `sweep`."""

    run: dict[str, Any]
    """Spec of each trial's run, as `POST /runs` takes it, without `kind` and `parent`. Its `parameters` are those
    that do not change."""
    parameters: Annotated[
        dict[ParameterName, Dimension], Field(min_length=1, max_length=MAX_DIMENSIONS)
    ]
    """What is chosen for each trial."""
    environments: Annotated[list[_EnvironmentName], Field(max_length=MAX_RUNS_OF_TRIAL)] = Field(
        default_factory=list
    )
    """Environments in which each trial runs; empty: that of `run`."""
    seeds: Annotated[list[_Seed], Field(max_length=MAX_RUNS_OF_TRIAL)] = Field(default_factory=list)
    """Seeds with which each trial runs; empty: that of `run`."""
    objectives: Annotated[list[Objective], Field(min_length=1, max_length=2)] = Field(
        default_factory=lambda: [Objective()]
    )
    sampler: Sampler = Field(default_factory=Sampler)
    pruner: Pruner = Field(default_factory=Pruner)
    budget: Budget = Field(default_factory=Budget)
    parallel: Annotated[int, Field(ge=1, le=256)] = 2
    """Maximum number of trials at once. Each waits in the queue for cores and GPUs like any run."""
    start_with: Annotated[list[dict[ParameterName, SweepValue]], Field(max_length=MAX_TRIALS)] = (
        Field(default_factory=list)
    )
    """Parameters of the first trials, e.g. the defaults. What is left out is chosen by the sampler."""
    continues: RunIdField | None = None
    """An ended sweep that this one goes on with: it begins with that one's study, and its trials count. Trials that
    were stopped or crashed are tried again."""
    name: Annotated[str, StringConstraints(min_length=1, max_length=150)] | None = None
    """Display name, with which the names of its trials begin; None: made from algorithm and environment."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_unique("environments", self.environments)
        _check_unique("seeds", self.seeds)
        _check_conditions(self.parameters)
        _check_start(self.start_with, self.parameters)
        if max(len(self.environments), 1) * max(len(self.seeds), 1) > MAX_RUNS_OF_TRIAL:
            raise ValueError(f"environments times seeds must not exceed {MAX_RUNS_OF_TRIAL}")
        if len(self.objectives) > 1:
            self._check_two_objectives()
        if self.sampler.name is SamplerName.GRID:
            _check_grid(self.parameters)
        return self

    @property
    def most_trials(self) -> int:
        """Maximum number of trials: a grid may have fewer than the budget."""
        if self.sampler.name is not SamplerName.GRID:
            return self.budget.trials
        size = math.prod(map(count_values, self.parameters.values()))
        return min(self.budget.trials, size + len(self.start_with))

    def _check_two_objectives(self) -> None:
        if self.sampler.name is SamplerName.CMA_ES:
            raise ValueError(
                "sampler cmaes takes one objective; nsga2, tpe, random or grid take two"
            )
        if self.pruner.name is not PrunerName.NONE:
            raise ValueError("a sweep with two objectives cannot prune: set pruner.name to none")


class TrialState(StrEnum):
    """State of a trial."""

    RUNNING = "running"
    COMPLETE = "complete"
    PRUNED = "pruned"
    """The pruner ended it early."""
    FAILED = "failed"
    """A run of it failed, or its objective has no finite value."""
    CRASHED = "crashed"
    """A run of it was killed or lost: it crashed, was interrupted or timed out."""
    STOPPED = "stopped"
    """A user stopped it, or the sweep."""
    STALE = "stale"
    """It was running when the sweep's process was killed, and its runs have not been checked since."""

    @property
    def is_final(self) -> bool:
        """Whether the trial has ended."""
        return self not in (TrialState.RUNNING, TrialState.STALE)


class TrialRecord(PeerModel):
    """A trial as it was at its last change."""

    number: int
    """Number of the trial in the study, from 0."""
    state: TrialState
    parameters: dict[str, Any]
    """Chosen values by name."""
    values: list[float] | None = None
    """Value of each objective; None: it has none (yet). A pruned trial has the value at which it was pruned."""
    runs: dict[str, str] = Field(default_factory=dict)
    """Id of each of its runs by key, e.g. `12/CartPole-v1/1`: number, environment and seed."""
    steps: int = 0
    """Environment steps of its runs together."""
    started: float
    """Seconds since the epoch."""
    ended: float | None = None
    reason: str = ""
    """Why it was pruned, failed, crashed or was stopped."""


class ParameterImportance(PeerModel):
    """How much of the objective's variance each parameter explains."""

    trials: int
    """Number of complete trials from which it was estimated."""
    importances: dict[str, float]
    """Share of each parameter, from 0 to 1; they sum to 1. With two objectives, the first one is meant."""
    method: str = "fanova"
    """Hutter, Hoos, Leyton-Brown 2014, "An Efficient Approach for Assessing Hyperparameter Importance"."""


class SweepView(PeerModel):
    """Answer of `GET /sweeps/{id}`: the progress of a sweep. `GET /runs/{id}` says whether it is still running."""

    run_id: RunIdField
    sweep: SweepSpec
    counts: dict[TrialState, int]
    """Number of trials in each state that has any."""
    best: list[TrialRecord]
    """The best complete trial; with two objectives those that no other one beats in both."""
    steps: int
    """Environment steps of all trials."""
    importance: ParameterImportance | None = None


class TrialPage(PeerModel):
    """Answer of `GET /sweeps/{id}/trials`: trials in the order of their last change."""

    trials: list[TrialRecord]
    cursor: str
    """Give it as `after` for the changes that follow."""
    has_more: bool


class SweepResume(UserModel):
    """Body of `POST /sweeps/{id}/resume`. Fields that are absent stay as they are."""

    budget: Budget | None = None
    """Another budget; trials that were made before count."""
    parallel: Annotated[int, Field(ge=1, le=256)] | None = None


class SweepStop(UserModel):
    """Body of `POST /sweeps/{id}/stop`."""

    let_finish: bool = False
    """Whether trials that run go on to their end. No further one starts in either case."""


def _check_range(low: float, high: float, log: bool, has_step: bool) -> None:
    if low > high:
        raise ValueError("low must not be greater than high")
    if log and low <= 0:
        raise ValueError("low must be greater than 0 where log is true")
    if log and has_step:
        raise ValueError("step cannot be combined with log")
    if not math.isfinite(high - low):
        raise ValueError("the range is too wide")


def _check_unique(name: str, values: list[Any]) -> None:
    if len(set(values)) < len(values):
        raise ValueError(f"{name} must not contain a value twice")


def _check_conditions(parameters: dict[str, Any]) -> None:
    """Conditions must name categorical parameters of the sweep and values of them, without a cycle."""
    for name, dimension in parameters.items():
        seen, at = {name}, dimension.when
        while at is not None:
            other = parameters.get(at.parameter)
            if not isinstance(other, Choice):
                raise ValueError(
                    f"parameters.{name}: when.parameter must name a categorical parameter, not {at.parameter!r}"
                )
            unknown = [value for value in at.values if value not in other.choices]
            if unknown:
                raise ValueError(
                    f"parameters.{name}: {unknown[0]!r} is no choice of {at.parameter}"
                )
            if at.parameter in seen:
                raise ValueError(f"parameters.{name}: the conditions form a circle")
            seen.add(at.parameter)
            at = other.when


def _check_start(start_with: list[dict[str, Any]], parameters: dict[str, Any]) -> None:
    for place, given in enumerate(start_with):
        for name, value in given.items():
            if name not in parameters:
                raise ValueError(f"start_with[{place}]: {name!r} is no parameter of the sweep")
            if not parameters[name].contains(value):
                raise ValueError(f"start_with[{place}]: {value!r} is no possible value of {name!r}")


def _check_grid(parameters: dict[str, Any]) -> None:
    """A grid needs a finite number of values, and every parameter in each trial."""
    for name, dimension in parameters.items():
        if dimension.when is not None:
            raise ValueError(f"parameters.{name}: sampler grid takes no conditions")
        is_endless = isinstance(dimension, FloatRange) and dimension.step is None
        if is_endless or (isinstance(dimension, IntRange) and dimension.log):
            raise ValueError(f"parameters.{name}: sampler grid needs a step, or a list of choices")
