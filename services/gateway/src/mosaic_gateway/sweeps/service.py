"""Sweeps as clients see them: a view, pages of trials, the spec of the best, the study's file, stop."""

import asyncio
import sqlite3
from collections import Counter

import httpx

from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.runs import RunView
from mosaic_contracts.services import RunRequest
from mosaic_contracts.spec import RunKind, RunSpec
from mosaic_contracts.states import RunState
from mosaic_contracts.sweep_exchange import STOP_PATH, SWEEP_SOCKET
from mosaic_contracts.sweeps import (
    STUDY_FILE,
    SweepSpec,
    SweepStop,
    SweepView,
    TrialPage,
    TrialRecord,
    TrialState,
)
from mosaic_contracts.verbs import STOP
from mosaic_gateway.files.folder import PathRefused
from mosaic_gateway.files.run_socket import ask
from mosaic_gateway.runs.service import Runs
from mosaic_gateway.sweeps.best import best_trials, spec_of_trial
from mosaic_gateway.sweeps.drivers import SweepDrivers
from mosaic_gateway.sweeps.study_copy import copy_study
from mosaic_gateway.sweeps.trials import TrialBooks


class Sweeps:
    """All that is asked about sweeps."""

    def __init__(self, runs: Runs, drivers: SweepDrivers, books: TrialBooks) -> None:
        self._runs = runs
        self._drivers = drivers
        self._books = books

    async def view(self, run_id: str) -> SweepView:
        """A sweep as far as it is. Raises ProblemError: `run_unknown`; scheduler or store do not answer."""
        run = await self._runs.get(run_id)
        sweep = _sweep_of(run)
        book = await self._books.read(run_id)
        trials = _as_now(book.trials, run)
        return SweepView(
            run_id=run_id,
            sweep=sweep,
            counts=Counter(trial.state for trial in trials),
            best=best_trials(trials, sweep.objectives),
            steps=sum(trial.steps for trial in trials),
            importance=book.importance,
        )

    async def trials(self, run_id: str, after: str, limit: int) -> TrialPage:
        """Trials that changed behind a cursor. Raises ProblemError as `view`, and `cursor_invalid`."""
        run = await self._runs.get(run_id)
        _sweep_of(run)
        page = (await self._books.read(run_id)).page(after, limit)
        return page.model_copy(update={"trials": _as_now(page.trials, run)})

    async def best(self, run_id: str, number: int | None) -> RunSpec:
        """The spec of the best trial, or of another one. Raises ProblemError as `view`, and `not_found`."""
        view = await self._runs.get(run_id)
        sweep = _sweep_of(view)
        trials = (await self._books.read(run_id)).trials
        found: list[TrialRecord]
        if number is None:
            found = best_trials(trials, sweep.objectives)
        else:
            found = [trial for trial in trials if trial.number == number]
        if not found:
            raise _no_trial(run_id, number)
        return RunSpec.model_validate(spec_of_trial(sweep, found[0], view.name))

    async def stop(self, run_id: str, asked: SweepStop) -> RunView:
        """Stop a sweep with its trials, or let those that run finish. One that has ended stays as it is.

        Raises:
            ProblemError: `run_unknown`; or it cannot be asked to let its trials finish just now.
        """
        view = await self._runs.get(run_id)
        _sweep_of(view)
        if view.state.is_final or (asked.let_finish and view.state is RunState.STOPPING):
            return view
        if not asked.let_finish or view.state is RunState.QUEUED:
            return await self._runs.change(STOP, RunRequest(run_id=run_id))
        body = asked.model_dump_json().encode()
        try:
            await ask(self._runs.folder(run_id), SWEEP_SOCKET, "POST", STOP_PATH, body)
        except (httpx.HTTPError, OSError) as error:
            raise _not_now(run_id) from error
        self._drivers.hurry(run_id)
        return await self._runs.get(run_id)

    async def study(self, run_id: str) -> bytes:
        """The study's file as of one moment. Raises ProblemError: `artifact_unknown`, `store_unavailable`."""
        _sweep_of(await self._runs.get(run_id))
        try:
            return await asyncio.to_thread(copy_study, self._runs.folder(run_id))
        except (FileNotFoundError, PathRefused) as error:
            raise _no_study(ProblemCode.ARTIFACT_UNKNOWN, run_id, "It has no study yet.") from error
        except (sqlite3.Error, OSError) as error:
            why = f"{STUDY_FILE} cannot be read now: {error}."
            raise _no_study(ProblemCode.STORE_UNAVAILABLE, run_id, why) from error


def _sweep_of(view: RunView) -> SweepSpec:
    if view.spec.kind is not RunKind.SWEEP or view.spec.sweep is None:
        raise ProblemError(
            Problem(
                code=ProblemCode.RUN_UNKNOWN,
                title="This run is no sweep",
                detail=f"Run {view.run_id} is of kind {view.spec.kind}. GET /api/v1/sweeps lists the sweeps.",
            )
        )
    return view.spec.sweep


def _as_now(trials: list[TrialRecord], run: RunView) -> list[TrialRecord]:
    """Trials as they are now: one that a killed sweep left running is stale once the sweep has ended."""
    if not run.state.is_final or run.telemetry_pending:
        return trials
    stale = {"state": TrialState.STALE}
    running = TrialState.RUNNING
    return [one.model_copy(update=stale) if one.state is running else one for one in trials]


def _no_trial(run_id: str, number: int | None) -> ProblemError:
    what = "no complete trial yet" if number is None else f"no trial {number}"
    return ProblemError(
        Problem(
            code=ProblemCode.NOT_FOUND,
            title="There is no such trial",
            detail=f"Sweep {run_id} has {what}. `./mosaic sweep show {run_id}` lists its trials.",
        )
    )


def _not_now(run_id: str) -> ProblemError:
    return ProblemError(
        Problem(
            code=ProblemCode.SERVICE_UNAVAILABLE,
            title="The sweep does not answer just now",
            detail=f"Its process starts or is restarted. Try again, or stop it with its trials "
            f"(`./mosaic sweep stop {run_id}`).",
            retry_after_s=2.0,
        )
    )


def _no_study(code: ProblemCode, run_id: str, why: str) -> ProblemError:
    return ProblemError(
        Problem(code=code, title=f"The study of {run_id} cannot be had", detail=why)
    )
