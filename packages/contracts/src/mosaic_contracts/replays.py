"""Replays: a recorded episode is rebuilt in a fresh process and compared with what was recorded, step by step."""

from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from mosaic_contracts.compat import Self, StrEnum
from mosaic_contracts.field_checks import not_a_bool
from mosaic_contracts.id_fields import RunIdField
from mosaic_contracts.models import PeerModel, UserModel

REPLAY_RESULT = "replay.result"
"""Type of the event with a `ReplayResult`, which a run of kind `replay` records once it has compared every step of an
episode."""
REPLAY_FILE = "inputs/replay.jsonl"
"""File in the folder of a replay with the events that it is made from, one JSON object a line: the `config` of the
recorded attempt, then `episode_start` and `step` of each episode in order, the replayed ones last."""
MAX_CHAIN_STEPS = 2_000_000
"""Maximum number of recorded steps that a replay takes, with those of all episodes before it where its reset needs
them."""
REPLAY_WALL_TIME_S = 1800.0
"""Time limit of a replay in seconds."""
REPLAY_IDLE_S = 120.0
"""Seconds after which a replay that draws ends when nobody has asked for a frame."""

_Count = Annotated[int, Field(ge=0, lt=2**62)]
# Left out where they say nothing: a stack or a worker's image may be older than they are.
_FirstEpisode = Annotated[_Count | None, Field(exclude_if=lambda value: value is None)]
_Observations = Annotated[bool, Field(exclude_if=lambda value: not value)]


class ReplaySource(UserModel):
    """The recorded episode that a run of kind `replay` rebuilds, or several in a row."""

    run_id: RunIdField
    attempt: Annotated[int, Field(ge=1, lt=2**31)]
    env: Annotated[int, Field(ge=0, lt=2**31)]
    episode: _Count
    draws: bool = True
    """Whether the replay goes on after the comparison and draws frames on request."""
    from_episode: _FirstEpisode = None
    """First of several episodes up to `episode`, each with a result of its own; None: `episode` alone."""
    observations: _Observations = False
    """Whether the rebuilt steps are recorded as events of the replay, with their observations."""


class ReplayRequest(UserModel):
    """Body of `POST /runs/{id}/replays`: rebuild one episode of this run, or several in a row."""

    episode: _Count
    env: Annotated[int, Field(ge=0, lt=2**31)] = 0
    attempt: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    """None: the newest attempt that has the episode."""
    draws: bool = True
    """Whether frames are wanted. False: the replay ends when it has compared the last step."""
    from_episode: _FirstEpisode = None
    """First of several episodes up to `episode`, those without recorded steps left out; None: `episode` alone."""
    observations: _Observations = False
    """Whether the rebuilt steps are recorded as events of the replay, with their observations."""

    @field_validator("episode", "env", "attempt", "from_episode", mode="before")
    @classmethod
    def _refuse_bool(cls, value: object) -> object:
        return not_a_bool(value)

    @model_validator(mode="after")
    def _check_several(self) -> Self:
        if self.from_episode is not None and self.from_episode > self.episode:
            raise ValueError("from_episode must not be above episode")
        if self.draws and (self.from_episode is not None or self.observations):
            raise ValueError("from_episode and observations go with draws false")
        return self


class ResetWay(StrEnum):
    """How a reset is rebuilt."""

    SEED = "seed"
    GENERATOR = "generator"
    SNAPSHOT = "snapshot"
    CHAIN = "chain"


class StepDifference(PeerModel):
    """The first step that is not as recorded."""

    step: int
    """Number of the step; 0: the reset."""
    parts: list[str]
    """What differs: `observation`, `reward`, `terminated`, `truncated`."""
    recorded: dict[str, Any] = Field(default_factory=dict)
    """Recorded values of these parts, where they were recorded."""
    rebuilt: dict[str, Any] = Field(default_factory=dict)


class PackageDifference(PeerModel):
    """A package whose version is not the recorded one."""

    package: str
    recorded: str
    installed: str | None
    """None: not installed."""


class ReplayResult(PeerModel):
    """How a rebuilt episode compares with the recorded one."""

    source: ReplaySource
    way: str
    """How the reset was rebuilt (`ResetWay`)."""
    steps: int
    """Recorded steps of the episode."""
    equal: int
    """Steps that are equal, counted up to the first difference."""
    first_difference: StepDifference | None = None
    packages: list[PackageDifference] = Field(default_factory=list)
    is_cut: bool = False
    """Whether the record ends before the episode did."""
    problem: str = ""
    """Why nothing could be rebuilt, in words."""
    can_draw: bool = True
    drawing_problem: str = ""
    """Why there are no pictures, in words."""
    fps: float = 30.0
    """Frames per second at which the environment is meant to be seen."""
    episodes_before: int = 0
    """Earlier episodes that were rebuilt first, because the reset needs them."""
    duration_s: float = 0.0

    @property
    def is_verified(self) -> bool:
        """Whether every recorded step is equal."""
        return not self.problem and self.first_difference is None and self.equal == self.steps

    @property
    def verdict(self) -> str:
        """How it compares in words: `verified 512 of 512 steps (generator)`, or how many are equal."""
        word = "verified" if self.is_verified else "equal"
        return f"{word} {self.equal} of {self.steps} steps ({self.way})"


class EpisodeRequest(PeerModel):
    """Request to the recorder: recorded events of one or more episodes, without observations, or the config event of
    an attempt."""

    run_id: RunIdField
    attempt: int
    env: int = 0
    episode: int | None = None
    """None: the config event of the attempt."""
    from_episode: int | None = None
    """First of several episodes of the sub-environment, up to `episode`; None: `episode` alone."""
    after_seq: int = 0
    """Events with a higher seq only: `last_seq` of the page before; 0: from the reset on."""
    limit: int = 20_000


class EpisodeEvents(PeerModel):
    """Answer: events as JSON, the `episode_start` and the steps in order."""

    events: list[dict[str, Any]]
    has_more: bool = False
    """Whether there may be more behind `last_seq`. A page reads a bounded number of records, so that it may hold few
    events, even none."""
    last_seq: int = 0
    """How far the page has read."""
    recorded_steps: int | None = None
    """Stored steps of the episode; None: an older recorder."""
    thinned_steps: int = 0
    """Steps of the episode that were removed from the store, to free space."""
    thinned_by: str = ""
    """What asked for that (`ThinRequest.rule`)."""
    is_earlier_thinned: bool = False
    """Whether steps of earlier episodes of the sub-environment were removed, which a reset by `chain` needs."""
    ended_at: int | None = None
    """Last step of an episode that was terminated or truncated; None: it goes on, or was cut."""
