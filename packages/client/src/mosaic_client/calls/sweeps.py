"""Requests that start, read and end sweeps."""

import uuid

from mosaic_client.call import Call, body_of, model, query_of, typed
from mosaic_client.run_view import Run
from mosaic_contracts import http_api
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.sweeps import (
    Budget,
    SweepResume,
    SweepSpec,
    SweepStop,
    SweepView,
    TrialPage,
)
from mosaic_contracts.worker import CheckReport


def start_sweep(sweep: SweepSpec, *, idempotency_key: str | None = None) -> Call[Run]:
    """Start a sweep: a run of kind `sweep`, which starts the runs of its trials.

    Args:
        sweep: what is searched, and how.
        idempotency_key: as for `submit`.

    Returns:
        The run of the sweep; its id names the sweep in all other requests.

    Raises:
        SpecRefused: a field is wrong; `.problem.fields` names each by its path, e.g. `sweep.run.parameters.gamma`.
        WorkerNotReady: the worker of sweeps, or that of the trials, cannot be used.
    """
    return Call.of(
        http_api.START_SWEEP,
        read=model(Run),
        body=_body(sweep),
        idempotency_key=idempotency_key or uuid.uuid4().hex,
    )


def check_sweep(sweep: SweepSpec) -> Call[CheckReport]:
    """Report what `start_sweep` would do. Starts nothing.

    Args:
        sweep: what would be searched.

    Returns:
        The number of trials and runs in `.plan`, and what is wrong in `.findings`.
    """
    return typed(http_api.CHECK_SWEEP, body=_body(sweep))


def sweep(sweep_id: str) -> Call[SweepView]:
    """Read a sweep as far as it is. `run` says whether it goes on.

    Args:
        sweep_id: id of the sweep's run.

    Returns:
        The number of trials in each state, the best ones, and the importance of each parameter.

    Raises:
        RunUnknown: there is no such sweep.
    """
    return typed(http_api.SWEEP, sweep_id)


def trials(sweep_id: str, after: str = "", limit: int = 500) -> Call[TrialPage]:
    """Read trials in the order of their last change, each once.

    Args:
        sweep_id: id of the sweep's run.
        after: `cursor` of an earlier page; empty: from the beginning. Later changes come behind the last page's cursor.
        limit: maximum number of trials, up to 2,000.

    Returns:
        One page.

    Raises:
        RunUnknown: there is no such sweep.
    """
    return typed(http_api.TRIALS, sweep_id, query=query_of(after=after or None, limit=limit))


def best_of_sweep(sweep_id: str, trial: int | None = None) -> Call[RunSpec]:
    """Read the spec of a run with the parameters of the best trial.

    Args:
        sweep_id: id of the sweep's run.
        trial: number of another trial.

    Returns:
        A spec that `submit` takes, in the first environment and with the first seed of the sweep.

    Raises:
        ThingUnknown: no trial is complete yet, or there is none with this number.
    """
    return typed(http_api.BEST_OF_SWEEP, sweep_id, query=query_of(trial=trial))


def stop_sweep(sweep_id: str, *, let_finish: bool = False) -> Call[Run]:
    """Stop a sweep. One that has ended stays as it is.

    Args:
        sweep_id: id of the sweep's run.
        let_finish: whether running trials may finish; no new trial starts in either case.

    Returns:
        The run of the sweep.

    Raises:
        RunUnknown: there is no such sweep.
        StackUnavailable: the sweep is starting, and cannot be asked yet to let its trials finish.
    """
    body = body_of(SweepStop(let_finish=let_finish))
    return Call.of(http_api.STOP_SWEEP, sweep_id, read=model(Run), body=body)


def resume_sweep(
    sweep_id: str, *, budget: Budget | None = None, parallel: int | None = None
) -> Call[Run]:
    """Go on with an ended sweep, as a new run that takes over its study and its trials.

    Args:
        sweep_id: id of the sweep's run. If it was resumed before, its newest run is continued.
        budget: another budget; trials that were made before count. None: that of the earlier sweep.
        parallel: another maximum number of trials at once.

    Returns:
        The run of the new sweep, or of the one that goes on with it already.

    Raises:
        RunUnknown: there is no such sweep.
        RunLive: it has not ended.
    """
    changes = {"budget": budget, "parallel": parallel}
    given = {name: value for name, value in changes.items() if value is not None}
    body = body_of(SweepResume.model_validate(given))
    return Call.of(http_api.RESUME_SWEEP, sweep_id, read=model(Run), body=body)


def study(sweep_id: str) -> Call[None]:
    """Download the study of a sweep."""
    return Call.of(http_api.STUDY, sweep_id, read=lambda _: None)


def _body(sweep: SweepSpec) -> bytes:
    """A body with all fields: the type of a dimension is needed where it was not set, too."""
    return sweep.model_dump_json().encode()
