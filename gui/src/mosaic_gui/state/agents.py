"""Agents of a stack: the modes of play, and each worker with its view profile and readiness."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from mosaic_contracts.choices import RunKind
from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.worker import Algorithm, WorkerDescription

AgentKey = tuple[str, str]
"""Worker and algorithm."""
ANALYTICS = "analytics"
"""View profile of workers that record curves and files, and no steps."""


class Mode(StrEnum):
    """A mode of play: a human, agents, or both act in the environment."""

    HUMAN = "human"
    HYBRID = "hybrid"
    AGENT = "agent"

    @property
    def trains(self) -> bool:
        """Whether agents are trained in it."""
        return self is not Mode.HUMAN


class Way(StrEnum):
    """What is done with an agent."""

    NEW = "new"
    """A new run trains it, from the beginning or from a checkpoint."""
    TRAINED = "trained"
    """A checkpoint of a finished run acts."""


@dataclass(frozen=True)
class Agent:
    """One algorithm of a worker."""

    key: AgentKey
    title: str
    summary: str
    plays: bool
    """Whether its checkpoints can act without training."""


@dataclass(frozen=True)
class AgentGroup:
    """A worker with its agents, as the agents panel lists them."""

    worker: str
    title: str
    view_profile: str
    """`telemetry`: recorded step by step; `analytics`: its curves and files only."""
    ready: bool
    reason: str
    """Why the worker is not ready, or its remarks."""
    modes: frozenset[str]
    levels: tuple[str, ...]
    """Levels of recording that the worker offers."""
    agents: tuple[Agent, ...]
    """Algorithms that learn or act by themselves; a person acts in runs of the others."""
    component: str = ""
    """Component whose environment the worker needs, for `./mosaic sync`; empty: the stack does not make it."""
    is_for_people: bool = False
    """Whether a person acts in runs of the worker, and nothing can be trained with it."""


def agent_groups(workers: Iterable[WorkerEntry]) -> list[AgentGroup]:
    """The workers of a stack as groups of agents."""
    return [_group(worker) for worker in workers]


def groups_for(groups: Iterable[AgentGroup], mode: Mode) -> list[AgentGroup]:
    """The groups whose workers offer this mode in `describe`."""
    return [group for group in groups if mode.value in group.modes]


def offered_modes(groups: Iterable[AgentGroup]) -> set[Mode]:
    """The modes that some worker offers; all before the workers are known. Agents can always be trained."""
    known = list(groups)
    offered = {mode for mode in Mode if groups_for(known, mode)}
    return offered | {Mode.AGENT} if known else set(Mode)


def _group(worker: WorkerEntry) -> AgentGroup:
    manifest, description = worker.manifest, worker.description
    reason = "\n".join(finding.message for finding in worker.findings)
    algorithms = description.algorithms if description else []
    return AgentGroup(
        worker=manifest.id,
        title=manifest.title,
        view_profile=manifest.lane,
        ready=worker.ready,
        reason=reason or ("" if worker.ready else manifest.hint),
        modes=frozenset(description.modes if description else ()),
        levels=tuple(description.record_levels if description else ()),
        agents=tuple(_agent(manifest.id, one) for one in algorithms if not one.human),
        component=manifest.room or "",
        is_for_people=_is_for_people(description),
    )


def _is_for_people(description: WorkerDescription | None) -> bool:
    """Whether a person acts, and no algorithm of the worker learns."""
    if description is None:
        return False
    acts = [one.human for one in description.algorithms]
    return any(acts) and (all(acts) or RunKind.TRAIN.value not in description.modes)


def _agent(worker: str, algorithm: Algorithm) -> Agent:
    return Agent((worker, algorithm.id), algorithm.title, algorithm.summary, plays=algorithm.play)
