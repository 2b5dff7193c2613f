"""How fast an agent is shown: at the environment's own frame rate, as far as a worker knows it."""

import re
from collections.abc import Iterable

from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.worker import Environment

TURN_PACE = 4.0
"""Steps per second of an environment in which nothing happens by itself: slow enough to follow each."""
UNKNOWN_PACE = 30.0
"""Steps per second of an environment of which no worker says the rate."""
_VERSION = re.compile(r"(NoFrameskip|Deterministic)?-v\d+$")


def watching_pace(environment: str, workers: Iterable[WorkerEntry]) -> float:
    """Steps per second at which a person follows an environment best."""
    found = _described(environment, workers)
    if found is None:
        return UNKNOWN_PACE
    return TURN_PACE if found.turns else found.rate or UNKNOWN_PACE


def _described(environment: str, workers: Iterable[WorkerEntry]) -> Environment | None:
    """The environment as a worker describes it best: by its id, else another version of it."""
    known = [
        each
        for worker in workers
        if worker.description is not None
        for each in worker.description.environments
        if each.turns or each.rate or each.grid is not None
    ]
    exact = next((each for each in known if each.id == environment), None)
    name = _name(environment)
    return exact or next((each for each in known if _name(each.id) == name), None)


def _name(environment: str) -> str:
    """The name without namespace and version: Breakout of ALE/Breakout-v5 and of BreakoutNoFrameskip-v4."""
    return _VERSION.sub("", environment.rpartition(":")[2].rpartition("/")[2])
