"""`inspect`: what a file is that a user imports as a checkpoint. No code in it is run."""

import zipfile
from pathlib import Path
from typing import Any

from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.worker import InspectedCheckpoint, InspectReport, InspectRequest
from mosaic_worker_spade.description import ALGORITHMS
from mosaic_worker_spade.errors import CheckpointUnusable
from mosaic_worker_spade.learning import checkpoint as checkpoints
from mosaic_worker_spade.learning.checkpoint_facts import CheckpointFacts
from mosaic_workerkit.findings import Findings

_ARRAY = ".npy"
_WITH_MAPS = "FrozenLake"
"""Environments whose map is a parameter begin so."""


def inspect_file(request: InspectRequest) -> InspectReport:
    """What the file is."""
    path, findings = Path(request.path), Findings()
    facts: CheckpointFacts | None = None
    try:
        facts = checkpoints.read(path).facts
    except CheckpointUnusable as error:
        words = str(error).replace(str(path), request.name)
        findings.block("file", words, ProblemCode.CHECKPOINT_REFUSED)
    else:
        _compare(facts, request, findings)
    found = None if facts is None or findings.is_blocked else _described(facts)
    return InspectReport(
        ok=not findings.is_blocked,
        recognized=facts is not None or _holds_arrays(path),
        findings=findings.findings,
        checkpoint=found,
    )


def _compare(facts: CheckpointFacts, request: InspectRequest, findings: Findings) -> None:
    """Compare the file with what the user named."""
    code = ProblemCode.CHECKPOINT_REFUSED
    for what, asked, has in (
        ("algorithm", request.algorithm, facts.algorithm),
        ("environment", request.environment, facts.environment),
    ):
        if asked not in (None, has):
            words = f"{request.name} was trained with the {what} {has}, not {asked}."
            words += f" Name {has}, or leave the {what} out."
            findings.block(what, words, code, [has], {what: has})
    if facts.algorithm not in ALGORITHMS:
        words = f"{request.name} is of {facts.algorithm!r}, and there is no such algorithm here."
        findings.block("algorithm", words, code)


def _described(facts: CheckpointFacts) -> InspectedCheckpoint:
    world: dict[str, Any] = {
        "map": facts.map if facts.environment.startswith(_WITH_MAPS) else None,
        "slippery": facts.world.get("is_slippery"),
        "max_episode_steps": facts.max_steps,
    }
    return InspectedCheckpoint(
        algorithm=facts.algorithm,
        environment=facts.environment,
        step=facts.steps,
        seed=facts.seed,
        arguments=facts.rates.model_dump(),
        packages=facts.packages,
        parameters={name: value for name, value in world.items() if value is not None},
    )


def _holds_arrays(path: Path) -> bool:
    """Whether it is an npz file, of whatever program."""
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith(_ARRAY) for name in archive.namelist())
    except (zipfile.BadZipFile, OSError):
        return False
