"""The parameters of both algorithms: schema for forms and checks, and their values as a dataclass."""

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from mosaic_contracts.spec import ParameterValue
from mosaic_contracts.worker import CHECKPOINT_MARK, WORLD_MARK
from mosaic_worker_spade.learning.choice import Loop
from mosaic_worker_spade.learning.schedule import Rates

STEPS = "total_steps"
AGENTS = "agents"


def _one(default: Any, schema: dict[str, Any], text: str, *, bdi: bool = False) -> Any:
    return field(default=default, metadata={"schema": schema, "text": text, "bdi": bdi})


_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_COUNT = {"type": "integer", "minimum": 1}


@dataclass(frozen=True, kw_only=True)
class Parameters:
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
        {"type": ["string", "null"]},
        "Path of an AgentSpeak file (.asl) that decides in place of the built-in plan.",
        bdi=True,
    )
    plan: str | None = _one(
        None,
        {"type": ["string", "null"]},
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


def parameter_schema(*, bdi: bool) -> dict[str, Any]:
    """JSON Schema of the parameters of an algorithm."""
    properties = {
        part.name: {
            **part.metadata["schema"],
            "default": part.default,
            "description": part.metadata["text"],
        }
        for part in fields(Parameters)
        if bdi or not part.metadata["bdi"]
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


Refuse = Callable[[str, str, list[str]], None]
"""Takes the place of a fault, what is wrong, and the nearest names."""


def read_parameters(
    given: dict[str, ParameterValue], *, bdi: bool, algorithm: str, refuse: Refuse
) -> Parameters:
    """The values of a run; what cannot be used is refused and left at its default."""
    properties = parameter_schema(bdi=bdi)["properties"]
    values: dict[str, Any] = {}
    for spelling, value in given.items():
        name, where = spelling.replace("-", "_"), f"parameters.{spelling}"
        if name not in properties:
            refuse(where, *_unknown(spelling, name, properties, algorithm))
        elif name in values:
            refuse(where, f"{name} is given twice.", [])
        elif (fault := _fault(value, properties[name])) is not None:
            refuse(where, f"{name} {fault}, not {value!r}.", [])
        else:
            values[name] = _plain(value, properties[name])
    return Parameters(**values)


def _unknown(
    spelling: str, name: str, known: Iterable[str], algorithm: str
) -> tuple[str, list[str]]:
    if any(part.name == name for part in fields(Parameters)):
        return f"{spelling} is for bdi_q only; {algorithm} has no agent that plans.", []
    nearest = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    hint = f" Did you mean {nearest[0]}?" if nearest else ""
    return f"{algorithm} has no parameter {spelling!r}.{hint}", nearest


def _fault(value: ParameterValue, schema: dict[str, Any]) -> str | None:
    """Why a value does not fit, as the end of a sentence."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if value is None:
        return None if "null" in kinds else f"must be of type {kinds[0]}"
    fits = {
        "boolean": isinstance(value, bool),
        "integer": _is_number(value) and float(value) == int(value),
        "number": _is_number(value),
        "string": isinstance(value, str),
    }
    if not any(fits.get(kind, False) for kind in kinds):
        return f"must be of type {kinds[0]}"
    if "enum" in schema and value not in schema["enum"]:
        return f"must be one of {', '.join(schema['enum'])}"
    return _bound_fault(float(value), schema) if _is_number(value) else None


def _is_number(value: ParameterValue) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(float(value)) != float("inf")
        and value == value
    )


def _bound_fault(value: float, schema: dict[str, Any]) -> str | None:
    if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        return f"must be above {schema['exclusiveMinimum']}"
    if "minimum" in schema and value < schema["minimum"]:
        return f"must be {schema['minimum']} or more"
    if "maximum" in schema and value > schema["maximum"]:
        return f"must be {schema['maximum']} or less"
    return None


def _plain(value: ParameterValue, schema: dict[str, Any]) -> Any:
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if value is None or isinstance(value, bool | str):
        return value
    return int(value) if "integer" in kinds else float(value)
