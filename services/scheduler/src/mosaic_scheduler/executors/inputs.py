"""Checkpoints of earlier runs that a run begins with, as its parameters name them: `RUN/PATH`.

A property with `"x-checkpoint": true` in an algorithm's schema takes one. No room but the worker knows more of it.
"""

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from mosaic_base.atomic import atomic_file
from mosaic_contracts.ids import RUN_ID_PATTERN
from mosaic_contracts.launch import INPUTS_DIR
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.sweeps import STUDY_FILE
from mosaic_contracts.worker import CHECKPOINT_MARK, Algorithm, WorkerDescription
from mosaic_scheduler.errors import InputUnusable, LaunchFailed
from mosaic_scheduler.executors.run_files import open_inside

_RUN_ID = re.compile(RUN_ID_PATTERN)
_LEFT_BY_SQLITE = ("-journal", "-wal")
"""Endings of the files that a killed process leaves. Without them its database may be broken."""


@dataclass(frozen=True)
class RunInput:
    """One file of another run."""

    parameter: str
    run_id: str
    path: str
    """In that run's folder."""

    @property
    def place(self) -> str:
        """Where the run finds its copy, relative to its own folder."""
        return f"{INPUTS_DIR}/{self.parameter}/{PurePosixPath(self.path).name}"

    @property
    def reference(self) -> str:
        """As a parameter names it."""
        return f"{self.run_id}/{self.path}"


def checkpoint_parameters(algorithm: Algorithm) -> list[str]:
    """Names of the parameters that take a checkpoint."""
    properties = algorithm.parameters.get("properties", {})
    return [
        name
        for name, schema in properties.items()
        if isinstance(schema, dict) and schema.get(CHECKPOINT_MARK) is True
    ]


def references(spec: RunSpec, description: WorkerDescription) -> dict[str, str]:
    """What these parameters say, where it is no path of the machine itself."""
    algorithm = description.find_algorithm(spec.algorithm)
    given: dict[str, str] = {}
    for name in checkpoint_parameters(algorithm) if algorithm is not None else []:
        value = spec.parameters.get(name)
        if isinstance(value, str) and not value.startswith(("/", "~")):
            given[name] = value
    return given


def inputs_of(spec: RunSpec, description: WorkerDescription) -> list[RunInput]:
    """What a run must be given; its references were found good when it was submitted."""
    found = []
    for name, value in references(spec, description).items():
        run_id, _, path = value.partition("/")
        if _RUN_ID.fullmatch(run_id) and path:
            found.append(RunInput(name, run_id, path))
    return found


def study_of(spec: RunSpec, runs_dir: Path) -> list[RunInput]:
    """Files of the study that a sweep goes on with: its database, and what SQLite left next to that."""
    earlier = spec.sweep.continues if spec.sweep is not None else None
    if earlier is None:
        return []
    names = [STUDY_FILE, *(STUDY_FILE + ending for ending in _LEFT_BY_SQLITE)]
    return [
        RunInput("study", earlier, name)
        for name in names
        if name == STUDY_FILE or (runs_dir / earlier / name).is_file()
    ]


def given(spec: RunSpec, values: dict[str, str]) -> RunSpec:
    """The spec with other values of these parameters."""
    if not values:
        return spec
    return spec.model_copy(update={"parameters": {**spec.parameters, **values}})


def deliver(run_dir: Path, inputs: Sequence[RunInput]) -> None:
    """Copy them. No hard link: the run that made a file could go on writing to it, and so could this one.

    Raises:
        LaunchFailed: one is gone.
        OSError: the disk refused.
    """
    for each in inputs:
        try:
            source = open_inside(run_dir.parent / each.run_id, each.path)
        except InputUnusable as error:
            raise LaunchFailed(
                f"{each.parameter}: {each.reference} is no longer available ({error}). Run "
                f"{each.run_id} may have been deleted. Name another checkpoint."
            ) from error
        target = run_dir / each.place
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(target) as draft:
            with os.fdopen(source, "rb") as file, draft.open("xb") as copy:
                shutil.copyfileobj(file, copy, 2**20)
            draft.chmod(0o444)
