"""At submit: which file of which run a parameter means, and whether it is there."""

import asyncio
import os
import re
from pathlib import Path

from mosaic_base.nearest import nearest_names
from mosaic_contracts.choices import BEST, LAST
from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.stack import RUNS_DIR
from mosaic_contracts.worker import WorkerDescription
from mosaic_scheduler.admission.check import Check, wrong
from mosaic_scheduler.errors import InputUnusable
from mosaic_scheduler.executors.inputs import RunInput, given, inputs_of, references
from mosaic_scheduler.executors.run_files import (
    ListedCheckpoint,
    best_of,
    listed_checkpoints,
    open_inside,
)
from mosaic_scheduler.runs.store import RunStore

_BEGINNING = re.compile(r"^[0-7][0-9A-HJKMNP-TV-Z]{3,25}$")
_SHOWN = 5
_HOW = (
    "Write RUN/best, RUN/last, RUN/PATH, e.g. RUN/checkpoints/final.npz (`./mosaic artifacts RUN` lists them), or an "
    "absolute path."
)


class InputResolution:
    """See `resolve`."""

    def __init__(self, home: Path, store: RunStore) -> None:
        self._runs = home / RUNS_DIR
        self._store = store

    async def resolve(
        self, spec: RunSpec, description: WorkerDescription
    ) -> tuple[RunSpec, list[Check]]:
        """The spec with whole references, and what is wrong with the others.

        `RUN` and `RUN/last` mean its newest checkpoint, `RUN/best` the one with the highest mean return.

        A run that names no parent has the run of its first checkpoint as its parent.
        """
        parameters, parent, findings = dict(spec.parameters), spec.parent, list[Check]()
        for name, value in references(spec, description).items():
            try:
                found = await self._find(name, value)
            except InputUnusable as error:
                code = ProblemCode.PARAMETER_INVALID
                findings.append(wrong(f"parameters.{name}", str(error), code, error.nearest))
                continue
            parameters[name] = found.reference
            parent = parent or found.run_id
        return spec.model_copy(update={"parameters": parameters, "parent": parent}), findings

    def for_check(
        self, spec: RunSpec, description: WorkerDescription, *, sees_files: bool
    ) -> RunSpec:
        """The spec as a worker's `check` can read it: a file that it sees, or the name that it will have in the run."""
        return given(
            spec,
            {
                each.parameter: str(self._runs / each.reference) if sees_files else each.place
                for each in inputs_of(spec, description)
            },
        )

    async def _find(self, parameter: str, value: str) -> RunInput:
        start, _, path = value.partition("/")
        run_id = await self._run(start, value)
        folder = self._runs / run_id
        if path in ("", LAST):
            path = await asyncio.to_thread(_newest, folder, run_id)
        elif path == BEST:
            path = await asyncio.to_thread(_best, folder, run_id)
        await asyncio.to_thread(_require, folder, run_id, path)
        return RunInput(parameter, run_id, path)

    async def _run(self, start: str, value: str) -> str:
        beginning = start.upper()
        if not _BEGINNING.fullmatch(beginning):
            raise InputUnusable(f"{value!r} names no checkpoint. {_HOW}")
        found = await self._store.beginning_with(beginning, _SHOWN)
        if not found:
            raise InputUnusable(f"No run's id begins with {beginning}. {_HOW}")
        if len(found) > 1:
            raise InputUnusable(f"Several runs begin with {beginning}: {', '.join(found)}.", found)
        return found[0]


def _newest(folder: Path, run_id: str) -> str:
    return _listed(folder, run_id)[-1].path


def _best(folder: Path, run_id: str) -> str:
    best = best_of(_listed(folder, run_id))
    if best is None:
        raise InputUnusable(
            f"Run {run_id} does not say which of its checkpoints is the best: none of them has a mean return. Take "
            f"{run_id}/last, or name one by its path."
        )
    return best.path


def _listed(folder: Path, run_id: str) -> list[ListedCheckpoint]:
    known = listed_checkpoints(folder)
    if not known:
        raise InputUnusable(
            f"Run {run_id} has no checkpoint (yet): it saves one at its end, at a stop, and now and then in between."
        )
    return known


def _require(folder: Path, run_id: str, path: str) -> None:
    try:
        open_file = open_inside(folder, path)
    except InputUnusable as error:
        known = [each.path for each in listed_checkpoints(folder)]
        nearest = nearest_names(path, known)
        has = f"Its checkpoints: {', '.join(known[-_SHOWN:])}." if known else "It has none."
        raise InputUnusable(f"Run {run_id}: {error}. {has}", nearest) from error
    os.close(open_file)
