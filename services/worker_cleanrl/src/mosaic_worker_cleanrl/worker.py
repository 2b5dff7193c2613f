"""The worker as its entry point knows it."""

from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import (
    CheckReport,
    InspectReport,
    InspectRequest,
    WorkerDescription,
)
from mosaic_gymkit.replay.verb import replay_run
from mosaic_worker_cleanrl.acting.playing import play_run
from mosaic_worker_cleanrl.description import describe_worker
from mosaic_worker_cleanrl.environment.extras import known_environments
from mosaic_worker_cleanrl.importing.inspect import inspect_file
from mosaic_worker_cleanrl.launch.training import train_run
from mosaic_worker_cleanrl.plan import check_run
from mosaic_workerkit import dashboard, sync
from mosaic_workerkit.entry import TrainContext


class CleanrlWorker:
    """Runs the scripts of the installed cleanrl package."""

    def describe(self) -> WorkerDescription:
        """Answer what this worker can do here."""
        return describe_worker()

    def check(self, spec: RunSpec) -> CheckReport:
        """Answer what a run would do."""
        return check_run(spec)

    def train(self, context: TrainContext) -> None:
        """Train; returns when the script has ended or stopped at a safe point."""
        train_run(context.telemetry, context.stop)

    def play(self, context: TrainContext) -> None:
        """Act with a checkpoint; returns after the last episode, or when it is to stop."""
        play_run(context)

    def inspect(self, request: InspectRequest) -> InspectReport:
        """Say what a file is that a user imports."""
        return inspect_file(request)

    def replay(self, context: TrainContext) -> None:
        """Rebuild the recorded episode that the run's spec names."""
        known_environments()  # registers the games
        replay_run(context)

    def dashboard(self, context: TrainContext) -> None:
        """Serve TensorBoard for the runs that the run's spec names."""
        dashboard.serve(context)

    def sync(self, context: TrainContext) -> None:
        """Send the run that the run's spec names to W&B."""
        sync.send(context)
