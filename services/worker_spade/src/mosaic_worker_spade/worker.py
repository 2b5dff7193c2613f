"""The worker as its entry point knows it."""

from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import (
    CheckReport,
    InspectReport,
    InspectRequest,
    WorkerDescription,
)
from mosaic_gymkit.replay.verb import replay_run
from mosaic_worker_spade.description import describe_worker
from mosaic_worker_spade.importing import inspect_file
from mosaic_worker_spade.request import check_run
from mosaic_worker_spade.training import play_run, train_run
from mosaic_workerkit.entry import TrainContext


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
        train_run(context)

    def play(self, context: TrainContext) -> None:
        """Show what a checkpoint has learned, step by step; returns as `train` does."""
        play_run(context)

    def inspect(self, request: InspectRequest) -> InspectReport:
        """Say what a file is that a user imports."""
        return inspect_file(request)

    def replay(self, context: TrainContext) -> None:
        """Rebuild the recorded episode that the run's spec names."""
        replay_run(context)
