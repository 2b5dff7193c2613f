"""Sweeps in this process, in the run folder that is the current one."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.driving import Driver

from mosaic_contracts.sweep_exchange import SweepNews, SweepOrders
from mosaic_contracts.sweeps import SWEEP_TRIAL, SweepSpec, TrialRecord, TrialState
from mosaic_worker_sweep.recording import SweepRecorder
from mosaic_worker_sweep.study import StudyFile
from mosaic_worker_sweep.sweep import Sweep, steps_of
from mosaic_workerkit.testing.recorded import RUN_ID, of_type, open_context, read_events, write_spec


class Swept:
    """A sweep, and what it recorded. Another one of the same folder goes on with its study."""

    def __init__(
        self, folder: Path, spec: dict[str, Any], sweep_id: str = RUN_ID, **more: Any
    ) -> None:
        folder.mkdir(exist_ok=True)
        os.chdir(folder)
        self.folder = folder
        run = {"worker": "sweep", "algorithm": "optuna", "environment": "optuna", "kind": "sweep"}
        write_spec(folder, {**run, "outbox_bytes": 2**24, "sweep": spec})
        for old in folder.glob("outbox/*/*/*"):
            old.unlink()
        self.context = open_context(folder)
        self.context.record_config({}, {})
        self.spec = SweepSpec.model_validate(spec)
        self.study = StudyFile(self.spec, sweep_id, "a sweep", steps_of(self.spec))
        self.recorder = SweepRecorder(self.context, self.spec, self.spec.most_trials)
        self.sweep = Sweep(self.spec, sweep_id, "a sweep", self.study, self.recorder, **more)

    def drive(
        self, driver: Driver, until: Callable[[SweepOrders], bool] = lambda orders: orders.is_over
    ) -> SweepOrders:
        """Exchange until the orders are so."""
        driver.orders = self.sweep.orders() if driver.runs else driver.orders
        for _ in range(1_000):
            driver.orders = self.sweep.exchange(driver.news())
            if until(driver.orders):
                return driver.orders
        raise AssertionError("it did not come to that")

    def exchange(self, **news: Any) -> SweepOrders:
        """Exchange once."""
        return self.sweep.exchange(SweepNews.model_validate(news))

    def records(self) -> dict[int, TrialRecord]:
        """Last record of each trial."""
        return {each.number: each for each in self.history()}

    def history(self) -> list[TrialRecord]:
        """All records of trials, in order."""
        found = of_type(read_events(self.folder), SWEEP_TRIAL)
        return [TrialRecord.model_validate(event["data"]) for event in found]

    def states(self) -> list[TrialState]:
        """Last state of each trial, by number."""
        return [record.state for _, record in sorted(self.records().items())]

    def close(self) -> None:
        """End this process' part of it."""
        self.context.telemetry.close()
