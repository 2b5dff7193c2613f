"""Comparisons: returns of several policies or trainings, and the statistics that are made of them.

A document says what is compared; `mosaic_analysis` answers with a result of the same kind. The statistics are those of
Agarwal et al. 2021, "Deep Reinforcement Learning at the Edge of the Statistical Precipice" (docs/compare.md).
"""

import math
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, TypeAdapter, field_validator, model_validator

from mosaic_contracts.compat import Self
from mosaic_contracts.models import PeerModel, UserModel

RANDOM = "random"
"""Random actions, as an actor."""
MOST_ACTORS = 6
"""Most policies in one comparison."""
ENOUGH_SEEDS = 20
"""With fewer samples, an interval is marked: it is too narrow (docs/compare.md#too-few-seeds)."""
TOO_FEW = "Too few"
"""Begins a note on too few samples."""
LEVEL = 0.05
"""Level of tests: below this p-value two trainings are called different."""
FEWEST_EPISODES = 20
"""With fewer episodes of either training, the test is not made."""


class ScoreRange(UserModel):
    """Returns that count as 0 and 1, for the optimality gap and for means over environments."""

    low: Annotated[float, Field(allow_inf_nan=False)] = 0.0
    """Return that counts as 0, e.g. that of random actions."""
    high: Annotated[float, Field(allow_inf_nan=False)]
    """Return that counts as 1, e.g. the best one possible."""

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if self.high <= self.low:
            raise ValueError("high must be above low")
        return self


class ActorWish(UserModel):
    """One actor of a comparison file: `run` or `random`."""

    run: str | None = None
    """A run: its id, the beginning of one, its name, or `last`. A training acts with its checkpoint; of a play or an
    evaluation the recorded episodes are taken."""
    checkpoint: str | None = None
    """`best`, `last`, a path, a name without ending, or a step; None: `last`."""
    random: bool = False
    """Random actions."""
    sampled: bool = False
    """Whether actions are drawn as in the training; else the best or most likely one is taken."""
    name: Annotated[str, StringConstraints(min_length=1, max_length=60)] | None = None
    """Name in tables; None: made from algorithm and checkpoint."""

    @classmethod
    def of_text(cls, text: str) -> Self:
        """Read `random`, `RUN` or `RUN@CHECKPOINT`.

        Raises:
            ValueError: the text names no run.
        """
        if text == RANDOM:
            return cls(random=True)
        run, at, checkpoint = text.partition("@")
        if not run or (at and not checkpoint):
            raise ValueError(f"{text!r} is no actor: write a run, RUN@CHECKPOINT, or {RANDOM}")
        return cls(run=run, checkpoint=checkpoint or None)

    @model_validator(mode="after")
    def _is_one_actor(self) -> Self:
        if (self.run is not None) == self.random:
            raise ValueError("give either `run` or `random: true`")
        if self.random and (self.checkpoint is not None or self.sampled):
            raise ValueError("random actions have no checkpoint, and are not `sampled`")
        return self


class ComparisonFile(UserModel):
    """Content of the file of `./mosaic compare FILE.yaml`."""

    actors: Annotated[list[ActorWish], Field(min_length=2, max_length=MOST_ACTORS)]
    """Actors. One may be text: `random`, `RUN` or `RUN@CHECKPOINT`."""
    episodes: Annotated[int, Field(ge=1, le=100_000)] = 20
    """Number of seeds."""
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] = 1
    """First seed; each next one is one higher."""
    environment: str | None = None
    """The environment that all must have; None: that of the first."""
    score_range: ScoreRange | None = None
    """For the optimality gap."""

    @field_validator("actors", mode="before")
    @classmethod
    def _read_texts(cls, given: object) -> object:
        if not isinstance(given, list):
            return given
        return [ActorWish.of_text(each) if isinstance(each, str) else each for each in given]


class ActorReturns(PeerModel):
    """Returns of one policy, one for each episode."""

    name: str
    returns: list[float]
    seeds: list[int] = Field(default_factory=list)
    """Seed of each episode; empty: the episodes have no seeds that others share."""
    places: list[tuple[int, int, int]] = Field(default_factory=list)
    """Attempt, sub-environment and number of each episode in its run; empty: not known."""
    run_id: str | None = None
    """Run whose episodes these are."""
    checkpoint: str | None = None
    """The checkpoint that acted, as `RUN/PATH`."""
    checkpoint_sha256: str | None = None
    is_reused: bool = False
    """Whether the run was there before the comparison."""

    @model_validator(mode="after")
    def _has_a_seed_each(self) -> Self:
        if self.seeds and len(self.seeds) != len(self.returns):
            raise ValueError("give a seed for each return, or none")
        if self.places and len(self.places) != len(self.returns):
            raise ValueError("give a place for each return, or none")
        return self


class ActorsDocument(PeerModel):
    """Policies that acted in one environment."""

    kind: Literal["actors"] = "actors"
    environment: str
    actors: Annotated[list[ActorReturns], Field(min_length=2, max_length=MOST_ACTORS)]
    score_range: ScoreRange | None = None
    notes: list[str] = Field(default_factory=list)
    """What a reader must know; it is repeated in the result and in the table."""

    @model_validator(mode="after")
    def _has_names_of_their_own(self) -> Self:
        if len({actor.name for actor in self.actors}) < len(self.actors):
            raise ValueError("give each actor a name of its own")
        if not all(actor.returns for actor in self.actors):
            raise ValueError("give at least one return of each actor")
        return self


class TrainingRun(PeerModel):
    """Episodes of one training, in the order in which they ended."""

    run_id: str
    seed: int
    steps: list[int]
    """Environment steps of the whole run when each episode ended; never falling."""
    returns: list[float]

    @model_validator(mode="after")
    def _has_episodes(self) -> Self:
        if not self.returns or len(self.steps) != len(self.returns):
            raise ValueError("give at least one episode, and the steps of each")
        return self


class TrainingGroup(PeerModel):
    """Trainings that differ in their seed only."""

    name: str
    """What groups of one environment differ in, e.g. the algorithm. The same name in two environments is one method."""
    environment: str
    runs: Annotated[list[TrainingRun], Field(min_length=1)]


class TrainingDocument(PeerModel):
    """Groups of trainings."""

    kind: Literal["training"] = "training"
    groups: Annotated[list[TrainingGroup], Field(min_length=1)]
    thresholds: dict[str, float] = Field(default_factory=dict)
    """Return by environment, for the steps that a training needs to reach it."""
    score_ranges: dict[str, ScoreRange] = Field(default_factory=dict)
    """By environment. Means over environments are made where each environment has one."""
    bins: Annotated[int, Field(ge=2, le=1000)] = 50
    """Points of a learning curve: bins of equally many environment steps."""
    notes: list[str] = Field(default_factory=list)


class SamenessDocument(PeerModel):
    """Returns of two trainings that had the same spec, from the first episode on that differs."""

    kind: Literal["sameness"] = "sameness"
    first: list[float]
    second: list[float]


ComparisonDocument = Annotated[
    ActorsDocument | TrainingDocument | SamenessDocument, Field(discriminator="kind")
]
document_adapter: TypeAdapter[ActorsDocument | TrainingDocument | SamenessDocument] = TypeAdapter(
    ComparisonDocument
)
"""Validates a document of any kind."""


class Estimate(PeerModel):
    """A statistic with its interval."""

    value: float | None
    """None: it has no value, e.g. the steps to a threshold that was not reached."""
    low: float | None = None
    """Lower end of the interval; None: there are fewer than two samples, or that end has no value."""
    high: float | None = None


class ResamplingFacts(PeerModel):
    """How intervals were made."""

    method: str = "percentile"
    confidence: float = 0.95
    resamples: int = 10_000
    seed: int = 1
    """Seed of the resampling: the same document gives the same result."""


class ActorStatistics(PeerModel):
    """Statistics of one policy."""

    name: str
    episodes: int
    mean: Estimate
    iqm: Estimate
    """Interquartile mean: the mean of the middle half of the returns."""
    median: Estimate
    optimality_gap: Estimate | None = None
    """Mean distance to the top of the score range, on its scale; None without a score range."""
    lowest: float
    highest: float


class PairStatistics(PeerModel):
    """Two policies, or two groups of trainings in one environment or over all of them."""

    first: str
    second: str
    environment: str
    """Empty: over all environments, in scores."""
    seeds: int
    """Number of equal seeds on which the two are paired; 0: they are not paired."""
    samples: list[int]
    """Number of returns of the first and of the second that are compared."""
    mean_difference: Estimate
    """Mean of the first less mean of the second."""
    iqm_difference: Estimate
    improvement: Estimate
    """Probability that a return of the first is higher than one of the second; equal ones count half."""
    wins: int | None = None
    """Seeds on which the first has the higher return; None where they are not paired."""
    ties: int | None = None
    losses: int | None = None

    @property
    def is_decidable(self) -> bool:
        """Whether there are so many samples that the most extreme order of them is no accident at `LEVEL`.

        Of n pairs all won, chance alone makes 2 in 2**n cases (sign test); of n and m unpaired samples one order in
        (n+m over n), twice. So six pairs are needed, or four samples against four.
        """
        if self.seeds:
            return 2.0 ** (1 - self.seeds) <= LEVEL
        first, second = self.samples
        return 2 / math.comb(first + second, first) <= LEVEL

    @property
    def higher(self) -> str | None:
        """The one whose mean is higher; None: the interval of the difference holds zero, or the samples are too few."""
        low, high = self.mean_difference.low, self.mean_difference.high
        if low is None or high is None or not self.is_decidable or low <= 0 <= high:
            return None
        return self.first if low > 0 else self.second

    @property
    def verdict(self) -> str:
        """What the interval of the mean difference says, in words."""
        if not self.is_decidable:
            return "too few samples"
        return "no clear difference" if self.higher is None else f"{self.higher} is higher"


class ActorsResult(PeerModel):
    """Result of an `ActorsDocument`."""

    kind: Literal["actors"] = "actors"
    environment: str
    actors: list[ActorStatistics]
    pairs: list[PairStatistics]
    resampling: ResamplingFacts
    document: ActorsDocument
    """The returns themselves."""
    notes: list[str]
    """Too few seeds, and everything else that a reader must know."""


class TrainingStatistics(PeerModel):
    """One group of trainings in one environment."""

    name: str
    environment: str
    runs: int
    final: Estimate
    """Interquartile mean over runs of the return in the last tenth of the steps."""
    area: Estimate
    """Interquartile mean over runs of the mean return over all steps: the area under the curve by its length."""
    threshold: float | None = None
    reached: int | None = None
    """Runs that reached the threshold."""
    steps_to_threshold: Estimate | None = None
    """Median over runs; a run that never reaches it counts as later than any other."""


class LearningCurve(PeerModel):
    """Interquartile mean over the runs of a group, bin by bin."""

    name: str
    environment: str
    steps: list[int]
    """End of each bin."""
    values: list[float]
    lows: list[float | None]
    highs: list[float | None]


class MethodStatistics(PeerModel):
    """One method over all environments, in scores."""

    name: str
    environments: int
    mean: Estimate
    """Mean over environments of the mean over runs."""
    iqm: Estimate
    """Interquartile mean of all runs in all environments."""
    median: Estimate
    """Median over environments of the mean over runs."""
    optimality_gap: Estimate


class TrainingResult(PeerModel):
    """Result of a `TrainingDocument`."""

    kind: Literal["training"] = "training"
    groups: list[TrainingStatistics]
    curves: list[LearningCurve]
    methods: list[MethodStatistics]
    """Empty with one environment, or where an environment has no score range."""
    pairs: list[PairStatistics]
    """Final returns of two groups; their seeds are not paired."""
    resampling: ResamplingFacts
    notes: list[str]


class SamenessResult(PeerModel):
    """Result of a `SamenessDocument`: the two-sample Kolmogorov-Smirnov test."""

    kind: Literal["sameness"] = "sameness"
    statistic: float | None
    p_value: float | None
    """None: there are fewer than `FEWEST_EPISODES` episodes, so that the test was not made."""
    episodes: list[int]
    is_same: bool
    """Whether the p-value is at least `LEVEL`. Successive returns depend on each other, which makes the test
    call trainings different too often, not too seldom."""


class DifferingFact(PeerModel):
    """One thing in the surroundings that differs between two runs; None: one of them did not record it."""

    what: str
    """E.g. `packages.torch`, `surroundings.threads`, `worker_lock`."""
    first: str | None
    second: str | None


class ComparedCheckpoint(PeerModel):
    """A checkpoint of both runs."""

    path: str
    is_equal: bool
    """Whether all tensors are equal, bit by bit."""


class ReproductionResult(PeerModel):
    """A run and its repetition."""

    first: str
    second: str
    verdict: Literal["identical", "same", "different"]
    """`identical`: every episode's return and length and every checkpoint's tensors. `same`: statistically."""
    episodes: list[int]
    digests: list[str]
    """SHA-256 over return and length of each complete episode, in order."""
    differs_from: int | None = None
    """Number of the first episode that differs, from 1, in the order in which they ended; None: none does."""
    checkpoints: list[ComparedCheckpoint] = Field(default_factory=list)
    sameness: SamenessResult | None = None
    """The test, where the returns are not identical."""
    surroundings: list[DifferingFact] = Field(default_factory=list)


ComparisonResult = Annotated[
    ActorsResult | TrainingResult | SamenessResult, Field(discriminator="kind")
]
result_adapter: TypeAdapter[ActorsResult | TrainingResult | SamenessResult] = TypeAdapter(
    ComparisonResult
)
"""Reads a result of any kind."""
