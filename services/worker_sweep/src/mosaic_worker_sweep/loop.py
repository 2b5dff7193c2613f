"""The verb `sweep`: from the run folder's spec to the last trial."""

import time
from contextlib import closing

from mosaic_contracts.sweep_exchange import SWEEP_SOCKET
from mosaic_worker_sweep.recording import SweepRecorder, say
from mosaic_worker_sweep.server import ExchangeServer
from mosaic_worker_sweep.study import StudyFile
from mosaic_worker_sweep.sweep import Sweep, steps_of
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.errors import ReportedError, RunRefused
from mosaic_workerkit.listener import SocketListener
from mosaic_workerkit.worker import package_versions

_LAST_S = 20.0
"""Seconds for the last estimate of the importances."""
_SILENT_S = 10.0
"""Seconds without a request after which a stopped sweep waits no longer: the stack is down too."""
_GRACE_PART = 0.8
"""Part of the grace time in which the runs of a stopped sweep may end."""


def run_sweep(context: TrainContext) -> None:
    """Answer the gateway until the sweep is over or stopped.

    Raises:
        RunRefused: the spec names no sweep.
        ReportedError: the first trials failed for the same reason, or no trial was completed.
    """
    spec = context.spec.sweep
    if spec is None:
        raise RunRefused("A run of kind sweep needs the field `sweep`: what it searches.")
    total = spec.most_trials
    context.record_config(
        {},
        {},
        total_steps=total,
        sweep=spec.model_dump(
            mode="json", include={"objectives", "sampler", "pruner", "budget", "parallel"}
        ),
        packages=package_versions("optuna", "cmaes", "scikit-learn", "numpy"),
    )
    run = spec.run
    name = spec.name or context.spec.name or f"{run.get('environment')}__{run.get('algorithm')}"
    study = StudyFile(spec, context.telemetry.run_id, name, steps_of(spec))
    recorder = SweepRecorder(context, spec, total)
    sweep = Sweep(spec, context.telemetry.run_id, name, study, recorder)
    context.telemetry.progress(recorder.ended, total)
    say(
        f"The sweep begins at trial {study.count} of {total}."
        if study.count
        else f"The sweep begins: {total} trials at the most."
    )
    with closing(SocketListener(context.run_dir / SWEEP_SOCKET)) as listener:
        _serve(context, sweep, ExchangeServer(listener, sweep))
    sweep.close(0.0 if context.stop.requested else _LAST_S)
    if sweep.hopeless:
        raise ReportedError(sweep.hopeless)
    if recorder.best is not None:
        say(
            f"Best: trial {recorder.best.number} with {recorder.best.values}: {recorder.best.parameters}"
        )
    if recorder.ended and not recorder.completed and not sweep.is_stopping:
        raise ReportedError(f"None of the {recorder.ended} trials was completed; each says why.")


def _serve(context: TrainContext, sweep: Sweep, server: ExchangeServer) -> None:
    stopped_at: float | None = None
    while not sweep.is_over:
        server.handle_request()
        if context.stop.requested and stopped_at is None:
            stopped_at = time.monotonic()
            sweep.stop(let_finish=False)
        sweep.tick()
        if stopped_at is None:
            continue
        now = time.monotonic()
        is_late = now - stopped_at >= _GRACE_PART * context.spec.grace_s
        if is_late or now - max(server.last_request, stopped_at) >= _SILENT_S:
            say("Some runs have not ended yet. They are stopped with the sweep.")
            return
