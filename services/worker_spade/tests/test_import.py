"""Files that a user imports: checkpoints of agents and learners, and what must be refused."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.learners import fresh, learn

from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import InspectReport, InspectRequest
from mosaic_worker_spade.importing import inspect_file
from mosaic_worker_spade.learning import checkpoint as checkpoints
from mosaic_worker_spade.request import check_run


class Runs:
    """Would make a folder when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = str(target)

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.target,)


def inspect(path: Path, **asked: str) -> InspectReport:
    """What the worker says of a file that a user calls `mine.npz`."""
    made = str(path.parent)
    return inspect_file(InspectRequest(path=str(path), name="mine.npz", made=made, **asked))


@pytest.mark.parametrize(
    ("name", "wish"),
    [("FrozenLake-v1", {"map": "SFF/FHF/FFG", "slippery": False}), ("CliffWalking-v1", {})],
)
def test_a_checkpoint_plays_in_the_world_that_it_says(
    tmp_path: Path, name: str, wish: dict[str, Any]
) -> None:
    """Facts are read from the file, and with the parameters that it gives a play is accepted."""
    learner = fresh(name, **wish)
    learn(learner, 500)
    path = tmp_path / "a.npz"
    checkpoints.save(learner, "q_learning", path)
    report = inspect(path)
    found = report.checkpoint
    assert found is not None
    assert (found.algorithm, found.environment, found.step) == ("q_learning", name, 500)
    fields = {"worker": "spade", "algorithm": "q_learning", "environment": name, "kind": "play"}
    parameters = {**found.parameters, "checkpoint": str(path)}
    assert check_run(RunSpec.model_validate({**fields, "parameters": parameters})).ok
    refused = inspect(path, environment="Taxi-v3")
    assert (refused.ok, refused.checkpoint) == (False, None)
    assert refused.findings[0].offers == {"environment": name}


def test_what_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    """Truncated, of objects, of other arrays, of another program: in words, and no code of it is run."""
    path, trap = tmp_path / "a.npz", tmp_path / "ran"
    checkpoints.save(fresh(), "q_learning", path)
    path.write_bytes(path.read_bytes()[:-40])
    words = inspect(path).findings[0].message
    assert words.startswith("mine.npz cannot be used as a checkpoint")
    np.savez(path, q=np.array([Runs(trap)], dtype=object))
    report = inspect(path)
    assert "a pickle of Python objects, which could run code" in report.findings[0].message
    assert report.recognized
    assert not trap.exists()
    np.savez(path, other=np.zeros(3))
    assert not inspect(path).ok
    path.write_bytes(b"text")
    assert not inspect(path).recognized
