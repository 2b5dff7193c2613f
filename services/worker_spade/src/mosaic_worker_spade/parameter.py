"""The parameters of both algorithms: schema for forms and checks, and their values as a dataclass."""

from dataclasses import dataclass, fields
from typing import Any

from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import CHECKPOINT_MARK, FILE_MARK, FILE_TEXT_MARK, WORLD_MARK
from mosaic_worker_spade.learning.choice import Loop
from mosaic_worker_spade.learning.schedule import Rates
from mosaic_workerkit import parameters as kit
from mosaic_workerkit.findings import Findings

STEPS = "total_steps"
AGENTS = "agents"


_BDI = "bdi"
"""Mark of a parameter that only the algorithm with a BDI agent has."""


def _one(default: Any, schema: dict[str, Any], text: str, *, bdi: bool = False) -> Any:
    return kit.parameter(default, text, **schema, **({_BDI: True} if bdi else {}))


_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_COUNT = {"type": "integer", "minimum": 1}


@dataclass(frozen=True, kw_only=True)
class LearningParameters:
    """What a person may set, with its default and help."""

    total_steps: int = _one(100_000, _COUNT, "Steps of the learner in all.")
    alpha: float = _one(
        0.1, _SHARE | {"exclusiveMinimum": 0}, "Step size: how far each step moves a value."
    )
    gamma: float = _one(0.99, _SHARE, "Discount: what a reward one step later is worth.")
    epsilon_start: float = _one(1.0, _SHARE, "Share of random actions in the first episode.")
    epsilon_end: float = _one(0.01, _SHARE, "Exploration falls no lower than this.")
    epsilon_decay: float = _one(
        0.995, _SHARE | {"exclusiveMinimum": 0}, "Factor on exploration from episode to episode."
    )
    map: str | None = _one(
        None,
        {"type": ["string", "null"], WORLD_MARK: True},
        "FrozenLake only: 4x4, 8x8, or rows of S, F, H, G with / between them, e.g. SFF/FHF/FFG.",
    )
    slippery: bool | None = _one(
        None,
        {"type": ["boolean", "null"], WORLD_MARK: True},
        "FrozenLake and CliffWalking: whether a step may slip sideways; empty: as the environment is registered.",
    )
    max_episode_steps: int | None = _one(
        None,
        {"type": ["integer", "null"], "minimum": 1, WORLD_MARK: True},
        "An episode is cut off after so many steps; empty: as registered, 200 where the environment has no limit.",
    )
    world_seed: int | None = _one(
        None,
        {"type": ["integer", "null"], "minimum": 0},
        "Seed of the environment alone; empty: the run's seed. The agent's choices always follow the run's seed.",
    )
    checkpoint: str | None = _one(
        None,
        {"type": ["string", "null"], CHECKPOINT_MARK: True},
        "Begin with this checkpoint: RUN/checkpoints/final.npz of another run here (RUN alone: its newest), or the "
        "path of an npz file.",
    )
    record_gap: int = _one(
        10_000,
        {"type": "integer", "minimum": 0},
        "While training, an episode is recorded step by step when so many steps have passed since the last such one "
        "(0: all are). `replay_every` of the run, where it is above 1, takes its place. An evaluation records all.",
    )
    episode_gap: int = _one(
        100,
        {"type": "integer", "minimum": 0},
        "While training, an episode's length and return are recorded when so many steps have passed since the last "
        "(0: all are).",
    )
    values_every: int = _one(
        20_000, _COUNT, "Steps of the learner between two recorded tables of values."
    )
    option_steps: int = _one(
        2_000,
        {"type": "integer", "minimum": 1, "maximum": 50_000},
        "Budget of one option in steps: how long the agent learns before it deliberates again.",
    )
    loop: str = _one(
        Loop.AUTO.value,
        {"type": "string", "enum": [loop.value for loop in Loop]},
        "What the learning runs in: plain lists, or machine code (needs the bundle numba). It learns the same, bit for "
        "bit; auto takes the compiled one where it is installed and the run is long enough for compiling to pay.",
    )
    agents: int = _one(
        1,
        {"type": "integer", "minimum": 1, "maximum": 2},
        "2: a scout explores first and informs the learner over XMPP where hazards and goal are.",
        bdi=True,
    )
    scout_steps: int = _one(
        10_000,
        _COUNT,
        "How many steps the scout explores; they do not count as the learner's.",
        bdi=True,
    )
    told_epsilon: float = _one(
        0.1,
        _SHARE,
        "Exploration that the built-in plan begins with when a scout has reported where the goal is.",
        bdi=True,
    )
    surprise_threshold: float = _one(
        0.3,
        _SHARE | {"exclusiveMinimum": 0},
        "The agent is surprised when its success rate over 100 episodes falls this far below its best.",
        bdi=True,
    )
    replan_epsilon: float = _one(
        0.3, _SHARE, "Exploration that the built-in plan goes back to after a surprise.", bdi=True
    )
    plan_file: str | None = _one(
        None,
        {"type": ["string", "null"], FILE_MARK: ".asl"},
        "Path of an AgentSpeak file (.asl) that decides in place of the built-in plan.",
        bdi=True,
    )
    plan: str | None = _one(
        None,
        {"type": ["string", "null"], FILE_TEXT_MARK: ".asl"},
        "The text of such a plan itself, for a stack that cannot see your files.",
        bdi=True,
    )

    @property
    def rates(self) -> Rates:
        """Those of Q-learning."""
        return Rates(
            alpha=self.alpha,
            gamma=self.gamma,
            epsilon_start=self.epsilon_start,
            epsilon_end=self.epsilon_end,
            epsilon_decay=self.epsilon_decay,
        )


_BDI_ONLY = frozenset(
    part.name for part in fields(LearningParameters) if part.metadata["schema"].get(_BDI)
)
"""Parameters of the algorithm with a BDI agent alone."""


def parameter_schema(*, bdi: bool) -> dict[str, Any]:
    """JSON Schema of the parameters of an algorithm."""
    names = [part.name for part in fields(LearningParameters) if bdi or part.name not in _BDI_ONLY]
    schema = kit.parameter_schema(LearningParameters, names)
    for described in schema["properties"].values():
        described.pop(_BDI, None)
    return schema


def read_parameters(spec: RunSpec, findings: Findings, *, bdi: bool) -> LearningParameters:
    """The values of a run; what cannot be used is refused and left at its default."""
    refused = {
        name: f"{name} is for bdi_q only; {spec.algorithm} has no agent that plans."
        for name in _BDI_ONLY
        if not bdi
    }
    schema = parameter_schema(bdi=bdi)
    values: dict[str, Any] = kit.check_parameters(
        spec.parameters, schema, findings, algorithm=spec.algorithm, refused=refused
    )
    return LearningParameters(**values)
