"""The command line of every worker: `describe`, `check`, `inspect`, and the verbs of its runs with `--run-dir DIR`.

These are `train`, `play`, `replay`, `dashboard`, `sweep` and `sync`. A worker author writes a class with three methods
(`play`, `replay`, `dashboard`, `sweep`, `sync` and `inspect` in addition, where it can). The module ends with
`sys.exit(main(MyWorker()))`.
"""

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pydantic import ValidationError

from mosaic_contracts.fault import fault_place, fault_text
from mosaic_contracts.launch import LAST_WORDS_FILE
from mosaic_contracts.models import PeerModel
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.stored_spec import StoredSpec
from mosaic_contracts.worker import (
    CheckReport,
    Finding,
    InspectReport,
    InspectRequest,
    WorkerDescription,
)
from mosaic_workerkit.control import StopFlag, StopForced, TrainerControl
from mosaic_workerkit.errors import (
    DashboardUnsupported,
    OutboxError,
    PlayUnsupported,
    ReplayUnsupported,
    ReportedError,
    SweepUnsupported,
    SyncUnsupported,
)
from mosaic_workerkit.git_state import worker_git_state
from mosaic_workerkit.masking import SecretMask, read_secrets
from mosaic_workerkit.spaces import Space
from mosaic_workerkit.surroundings import surroundings_of
from mosaic_workerkit.telemetry import Telemetry

EXIT_STOP_FORCED = 130
MAX_LAST_WORDS_BYTES = 2000
"""Maximum size of the text, which must fit the exit report with everything else."""
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY")


@dataclass(frozen=True, kw_only=True)
class TrainContext:
    """Everything that `train` and `play` receive."""

    run_dir: Path
    """Folder of the run, which is also the current folder."""
    spec: StoredSpec
    telemetry: Telemetry
    stop: StopFlag
    """Check `stop.requested` at safe points; when it is set, save a checkpoint and return."""

    def record_config(
        self,
        arguments: Any,
        spaces: Mapping[str, Space],
        *,
        total_steps: int | None = None,
        num_envs: int = 1,
        **more: Any,
    ) -> None:
        """Record the config of the run, which is its first event.

        Args:
            arguments: every argument of the algorithm with its value: an instance of a dataclass, or a mapping.
            spaces: of `observation` and `action`, as `space_of` describes them.
            total_steps: environment steps that the run will take; None: unknown.
            more: further keys, e.g. `packages=package_versions("torch")`.
        """
        is_mapping = isinstance(arguments, Mapping)
        config = {
            "algorithm": self.spec.algorithm,
            "environment": self.spec.environment,
            "seed": self.spec.seed,
            "arguments": dict(arguments) if is_mapping else asdict(arguments),
            "num_envs": num_envs,
            "spaces": dict(spaces),
            "record": self.spec.record.value,
            "replay_every": self.spec.replay_every,
            "total_steps": total_steps,
            "surroundings": surroundings_of(self.spec),
            **worker_git_state(),
        }
        self.telemetry.config({**config, **more})


class Worker(Protocol):
    """Interface that a worker author implements."""

    def describe(self) -> WorkerDescription:
        """Return everything that a client needs to know about this worker."""

    def check(self, spec: RunSpec) -> CheckReport:
        """Return the exact plan for a spec, and what is missing. Must not start anything."""

    def train(self, context: TrainContext) -> None:
        """Train to the end, or to a stop. Raise an exception to fail."""


@runtime_checkable
class Player(Protocol):
    """Additional interface of a worker whose algorithms set `play` in `describe`."""

    def play(self, context: TrainContext) -> None:
        """Act with a checkpoint and learn nothing, for a run of kind play or evaluate.

        Every step is recorded. `spec.episodes` is how many episodes, `spec.pace` how many steps a second at most.
        """


@runtime_checkable
class Replayer(Protocol):
    """Additional interface of a worker whose `modes` name `replay`."""

    def replay(self, context: TrainContext) -> None:
        """Rebuild the recorded episode that `spec.replay` names, e.g. by `mosaic_gymkit.replay_run(context)`."""


@runtime_checkable
class Inspector(Protocol):
    """Additional interface of a worker whose `modes` name `import`."""

    def inspect(self, request: InspectRequest) -> InspectReport:
        """Return what the file at `request.path` is, without running any code in it.

        The file comes from anywhere: tensors by `torch.load(..., weights_only=True)`, arrays by
        `numpy.load(..., allow_pickle=False)`, or safetensors. A file of another program may be converted into a
        checkpoint of this worker below `request.made`. The process has limits of time and memory.
        """


@runtime_checkable
class DashboardServer(Protocol):
    """Additional interface of a worker whose `modes` name `dashboard`."""

    def dashboard(self, context: TrainContext) -> None:
        """Serve TensorBoard for the runs of `spec.dashboard`, by `mosaic_workerkit.dashboard.serve(context)`."""


@runtime_checkable
class Sweeper(Protocol):
    """Additional interface of a worker whose `modes` name `sweep`."""

    def sweep(self, context: TrainContext) -> None:
        """Choose the parameters of trials, as `spec.sweep` says, and answer the gateway on `SWEEP_SOCKET`."""


@runtime_checkable
class RunSender(Protocol):
    """Additional interface of a worker whose `modes` name `sync`."""

    def sync(self, context: TrainContext) -> None:
        """Send the run that `spec.sync` names to W&B, by `mosaic_workerkit.sync.send(context)`."""


def main(worker: Worker, argv: Sequence[str] | None = None) -> int:
    """Serve one command of the worker and return the exit code."""
    parser = argparse.ArgumentParser(description="A MOSAIC worker.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("describe", help="print a WorkerDescription as JSON")
    verbs.add_parser("check", help="read a RunSpec as JSON on stdin, print a CheckReport")
    verbs.add_parser("inspect", help="read an InspectRequest on stdin, print an InspectReport")
    train = verbs.add_parser("train", help="train as the run folder's spec.json says")
    train.add_argument("--run-dir", type=Path, required=True)
    play = verbs.add_parser("play", help="show what a checkpoint has learned, as spec.json says")
    play.add_argument("--run-dir", type=Path, required=True)
    replay = verbs.add_parser("replay", help="rebuild a recorded episode, as spec.json says")
    replay.add_argument("--run-dir", type=Path, required=True)
    dashboard = verbs.add_parser("dashboard", help="serve TensorBoard, as spec.json says")
    dashboard.add_argument("--run-dir", type=Path, required=True)
    sweep = verbs.add_parser("sweep", help="choose the parameters of trials, as spec.json says")
    sweep.add_argument("--run-dir", type=Path, required=True)
    sync = verbs.add_parser("sync", help="send a run to W&B, as spec.json says")
    sync.add_argument("--run-dir", type=Path, required=True)
    options = parser.parse_args(argv)
    if options.verb == "describe":
        return _answer(worker.describe)
    if options.verb == "check":
        return _answer(lambda: _check(worker))
    if options.verb == "inspect":
        return _answer(lambda: _inspect(worker))
    if options.verb == "play":
        return _act(_player(worker), options.run_dir.resolve())
    if options.verb == "replay":
        return _act(_replayer(worker), options.run_dir.resolve())
    if options.verb == "dashboard":
        return _act(_dashboard_server(worker), options.run_dir.resolve())
    if options.verb == "sweep":
        return _act(_sweeper(worker), options.run_dir.resolve())
    if options.verb == "sync":
        return _act(_sender(worker), options.run_dir.resolve())
    return _act(worker.train, options.run_dir.resolve())


def _answer(make: "_Make") -> int:
    """Print one model as JSON; whatever else the worker prints goes to stderr."""
    with _stdout_to_stderr() as real:
        data = make().model_dump_json().encode() + b"\n"
        while data:
            data = data[os.write(real, data) :]
    return 0


class _Make(Protocol):
    def __call__(self) -> PeerModel: ...


@contextmanager
def _stdout_to_stderr() -> Iterator[int]:
    """On the level of descriptors, so that prints of C libraries and child processes move too."""
    sys.stdout.flush()
    real = os.dup(1)
    os.dup2(2, 1)
    try:
        yield real
    finally:
        sys.stdout.flush()
        os.dup2(real, 1)
        os.close(real)


def _check(worker: Worker) -> CheckReport:
    try:
        spec = RunSpec.model_validate_json(sys.stdin.buffer.read())
    except ValidationError as error:
        findings = [
            Finding(
                level="blocking",
                where=fault_place(fault) or "spec",
                message=fault_text(fault),
                code="spec_invalid",
            )
            for fault in error.errors(include_url=False)
        ]
        return CheckReport(ok=False, findings=findings)
    return worker.check(spec)


def _inspect(worker: Worker) -> InspectReport:
    """Have the worker look at a file.

    Raises:
        ValidationError: the request is none; the scheduler writes it.
    """
    request = InspectRequest.model_validate_json(sys.stdin.buffer.read())
    if isinstance(worker, Inspector):
        return worker.inspect(request)
    words = "This worker takes no imports: it has no method `inspect`. Its description must not name `import`."
    return InspectReport(
        ok=False, findings=[Finding(level="blocking", where="worker", message=words)]
    )


_Acting = Callable[[TrainContext], None]


def _player(worker: Worker) -> _Acting:
    if isinstance(worker, Player):
        return worker.play

    def refuse(_context: TrainContext) -> None:
        raise PlayUnsupported(
            "This worker cannot play: it has no method `play`. Its description must not say that it can."
        )

    return refuse


def _replayer(worker: Worker) -> _Acting:
    if isinstance(worker, Replayer):
        return worker.replay

    def refuse(_context: TrainContext) -> None:
        raise ReplayUnsupported(
            "This worker cannot replay: it has no method `replay`. Its description must not say that it can."
        )

    return refuse


def _dashboard_server(worker: Worker) -> _Acting:
    if isinstance(worker, DashboardServer):
        return worker.dashboard

    def refuse(_context: TrainContext) -> None:
        raise DashboardUnsupported(
            "This worker serves no dashboard: it has no method `dashboard`. Its description must not say that it does."
        )

    return refuse


def _sweeper(worker: Worker) -> _Acting:
    if isinstance(worker, Sweeper):
        return worker.sweep

    def refuse(_context: TrainContext) -> None:
        raise SweepUnsupported(
            "This worker runs no sweeps: it has no method `sweep`. Its description must not say that it does."
        )

    return refuse


def _sender(worker: Worker) -> _Acting:
    if isinstance(worker, RunSender):
        return worker.sync

    def refuse(_context: TrainContext) -> None:
        raise SyncUnsupported(
            "This worker sends no runs: it has no method `sync`. Its description must not say that it does."
        )

    return refuse


def _act(acting: _Acting, run_dir: Path) -> int:
    stop = StopFlag().install()
    os.chdir(run_dir)
    take_proxies()
    try:
        telemetry = Telemetry.open(run_dir)
    except OutboxError as error:
        leave_last_words(run_dir, f"{type(error).__name__}: {error}")
        raise
    with telemetry:
        context = TrainContext(run_dir=run_dir, spec=telemetry.spec, telemetry=telemetry, stop=stop)
        with TrainerControl(run_dir, stop, lambda: {"last_seq": telemetry.next_seq - 1}):
            return _guarded(acting, context)


def _guarded(acting: _Acting, context: TrainContext) -> int:
    telemetry = context.telemetry
    try:
        acting(context)
        if telemetry.ended is None:
            telemetry.lifecycle("stopped" if context.stop.requested else "done")
    except StopForced as forced:
        _say_end(telemetry, "stopped", f"second signal: {forced}")
        return EXIT_STOP_FORCED
    except SystemExit as leave:
        code = leave.code if isinstance(leave.code, int) else int(leave.code is not None)
        _say_end(telemetry, "error" if code else "done", f"left with exit code {code}")
        return code
    except ReportedError as error:
        print(error, file=sys.stderr)  # noqa: T201 - the worker's log
        _say_end(telemetry, "error", str(error))
        return error.exit_code
    except BaseException as error:  # noqa: BLE001 - the boundary: a worker's own errors end here, reported and non-zero
        leave_last_words(context.run_dir, f"{type(error).__name__}: {error}")
        _print_traceback()
        _say_end(telemetry, "error", f"{type(error).__name__}: {error}")
        return 1
    return 0


def _say_end(telemetry: Telemetry, phase: str, message: str) -> None:
    """A terminal lifecycle if one can still be written; the exit code says it anyway."""
    if telemetry.ended is not None:
        return
    try:
        telemetry.lifecycle(phase, {"message": message[:4000]})
    except (OutboxError, RuntimeError) as error:
        with suppress(OSError):  # on a full disk the log takes nothing either
            print(f"the end could not be recorded: {error}", file=sys.stderr)  # noqa: T201 - the worker's log


def _print_traceback() -> None:
    with suppress(OSError):
        traceback.print_exc()


def leave_last_words(run_dir: Path, text: str) -> None:
    """Write why this worker fails where a full disk cannot stop it: in blocks that its runner took at the start."""
    mask = SecretMask(read_secrets(os.environ))
    data = " ".join(mask.in_text(text).split()).encode(errors="replace")[:MAX_LAST_WORDS_BYTES]
    try:
        fd = os.open(run_dir / LAST_WORDS_FILE, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return  # started by hand, or the folder is gone: the log has it
    try:
        os.pwrite(fd, data, 0)
    finally:
        os.close(fd)


def take_proxies() -> None:
    """Put the stack's proxies that carry a name and password into this process's environment, in both spellings.

    They are handed over as files.

    Raises:
        OSError: a file that the environment names cannot be read.
    """
    for name in _PROXIES:
        if path := os.environ.get(f"MOSAIC_SECRET_{name}_FILE"):
            os.environ[name] = os.environ[name.lower()] = Path(path).read_text(encoding="utf-8")
