"""The worker as its entry point knows it."""

import sys
from collections.abc import Callable

from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import CheckReport, WorkerDescription
from mosaic_worker_spade.description import describe_worker
from mosaic_worker_spade.errors import PlanStuck, RunRefused, XmppUnusable
from mosaic_worker_spade.request import check_run
from mosaic_worker_spade.training import play_run, train_run
from mosaic_workerkit.entry import TrainContext

EXIT_FAILED = 1
EXIT_REFUSED = 2
"""A person's doing: a spec that `check` blocks, a server that cannot be used. 0 is success and a polite stop."""


class SpadeWorker:
    """BDI agents over Q-learning."""

    def describe(self) -> WorkerDescription:
        """Answer what this worker can do here."""
        return describe_worker()

    def check(self, spec: RunSpec) -> CheckReport:
        """Answer what a run would do."""
        return check_run(spec)

    def train(self, context: TrainContext) -> None:
        """Train; returns at the end or at a polite stop."""
        self._work(train_run, context)

    def play(self, context: TrainContext) -> None:
        """Show what a checkpoint has learned, step by step; returns as `train` does."""
        self._work(play_run, context)

    def _work(self, work: Callable[[TrainContext], None], context: TrainContext) -> None:
        try:
            work(context)
        except (RunRefused, XmppUnusable) as refused:
            self._leave(context, str(refused), EXIT_REFUSED)
        except PlanStuck as stuck:  # said in words: where in our code it was seen helps nobody
            self._leave(context, str(stuck), EXIT_FAILED)

    def _leave(self, context: TrainContext, words: str, code: int) -> None:
        print(words, file=sys.stderr)  # noqa: T201 - the worker's log
        context.telemetry.lifecycle("error", {"message": words})
        raise SystemExit(code)
