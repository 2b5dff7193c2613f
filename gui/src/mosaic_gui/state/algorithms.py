"""Looks up the algorithm of a run or of a checkpoint among the workers of a stack."""

from collections.abc import Iterable

from mosaic_contracts.runs import RunView
from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.worker import Algorithm


def find_algorithm(worker_id: str, name: str, workers: Iterable[WorkerEntry]) -> Algorithm | None:
    """What a worker says of an algorithm; None: this stack does not have it."""
    for worker in workers:
        if worker.manifest.id == worker_id and worker.description is not None:
            return worker.description.find_algorithm(name)
    return None


def algorithm_of(run: RunView, workers: Iterable[WorkerEntry]) -> Algorithm | None:
    """What the worker of a run says of its algorithm; None: this stack does not have it."""
    return find_algorithm(run.spec.worker, run.spec.algorithm, workers)
