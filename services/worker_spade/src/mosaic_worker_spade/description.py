"""Answer of `describe`. Imports neither spade nor agentspeak: a client waits for it."""

from mosaic_contracts.spec import RecordLevel, RunKind
from mosaic_contracts.worker import Algorithm, WorkerDescription
from mosaic_contracts.xmpp import SERVICE
from mosaic_worker_spade import VERSION
from mosaic_worker_spade.documentation import documentation_of
from mosaic_worker_spade.environment.catalog import DEFAULT, list_environments
from mosaic_worker_spade.packages import installed_packages
from mosaic_worker_spade.parameter import AGENTS, STEPS, parameter_schema

WORKER_ID = "spade"
BDI = "bdi_q"
PLAIN = "q_learning"
ALGORITHMS = (BDI, PLAIN)
DECISIONS, POLICY = "bdi", "policy"
"""Families of namespaced events (docs/interfaces.md, "Agents that can be read")."""
MODES = (RunKind.TRAIN, RunKind.EVALUATE, RunKind.PLAY, RunKind.REPLAY)


def describe_worker() -> WorkerDescription:
    """Return everything a client needs to build its forms."""
    return WorkerDescription(
        worker=WORKER_ID,
        version=VERSION,
        title="SPADE-BDI",
        summary="AgentSpeak plans decide what to do next, Q-learning learns, and every decision can be read.",
        modes=[*(mode.value for mode in MODES), RunKind.IMPORT.value],
        record_levels=[level.value for level in RecordLevel],
        algorithms=[_bdi(), _plain()],
        environments=list_environments(),
        packages=installed_packages(),
    )


def _bdi() -> Algorithm:
    return Algorithm(
        id=BDI,
        title="Q-learning led by a BDI agent",
        summary="An AgentSpeak agent decides option by option whether to discover, learn, exploit or replan, and step "
        "by step when it plays. Knowledge that it is given helps it; it is not expected to learn faster by itself.",
        documentation=documentation_of(BDI),
        parameters=parameter_schema(bdi=True),
        action_spaces=["discrete"],
        observation_spaces=["discrete"],
        default_environment=DEFAULT,
        steps_parameter=STEPS,
        services=[SERVICE],
        agents_parameter=AGENTS,
        tells=[DECISIONS, POLICY],
        warm_start=True,
        play=True,
    )


def _plain() -> Algorithm:
    return Algorithm(
        id=PLAIN,
        title="Q-learning",
        summary="Plain epsilon-greedy Q-learning with the same rates, to compare with.",
        documentation=documentation_of(PLAIN),
        parameters=parameter_schema(bdi=False),
        action_spaces=["discrete"],
        observation_spaces=["discrete"],
        default_environment=DEFAULT,
        steps_parameter=STEPS,
        tells=[POLICY],
        warm_start=True,
        play=True,
    )
