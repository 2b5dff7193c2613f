"""The worker that a `program.toml` makes: `describe`, `check`, `train` like any other."""

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic_contracts.launch import ENV_RUN_DIR, ENV_RUN_ID
from mosaic_contracts.spec import RecordLevel, RunSpec
from mosaic_contracts.worker import (
    Algorithm,
    CheckReport,
    Environment,
    Finding,
    WorkerDescription,
)
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.git_state import git_state
from mosaic_workerkit.own_files import DELETED
from mosaic_workerkit.pipe.child import STDOUT, Child, Ending
from mosaic_workerkit.pipe.errors import ProgramNotStarted, ProgramRefused
from mosaic_workerkit.pipe.lines import LineSplitter
from mosaic_workerkit.pipe.program import (
    ENVIRONMENT,
    HERE,
    RUN_DIR,
    RUN_ID,
    SEED,
    STEPS,
    Program,
    ProgramFile,
    find_executable,
)
from mosaic_workerkit.pipe.translation import Translator

VERSION = "1"
_LINE_BUFFERING = Path(__file__).parent / "line_buffering"
_RUNNER = "MOSAIC_RUNNER_PID"
"""There under a runner, which sets PYTHONUNBUFFERED for workers; by hand the variable is the user's."""
_FILES_LOOK_S = 0.5
"""How soon it is seen that the program deleted the outbox with its output folder."""
_FIELDS: dict[str, dict[str, Any]] = {
    SEED: {"type": "integer", "minimum": 0, "description": "Seed of the run."},
    STEPS: {"type": "integer", "minimum": 1, "description": "Environment steps in all."},
    ENVIRONMENT: {"type": "string", "description": "Environment id."},
}


class PipeWorker:
    """A worker that runs the programs of one program.toml.

    Args:
        here: folder of that file.
    """

    def __init__(self, file: ProgramFile, here: Path) -> None:
        self._file = file
        self._here = here
        self.ending: Ending | None = None
        """How the program ended, once it has."""

    def describe(self) -> WorkerDescription:
        """Return the description, from the file alone."""
        return WorkerDescription(
            worker=self._file.id,
            version=VERSION,
            title=self._file.title,
            summary=self._file.summary,
            record_levels=[level.value for level in RecordLevel],
            algorithms=[
                self._algorithm(name, program) for name, program in self._file.algorithms.items()
            ],
            environments=[Environment(id=name) for name in self._file.environments],
        )

    def check(self, spec: RunSpec) -> CheckReport:
        """Return the command that would be executed."""
        try:
            program = self._program(spec)
            argv, directory = self._launch(program, spec, Path("<run>"), "<run id>")
        except ProgramRefused as error:
            return _blocked("parameters" if spec.parameters else "spec", str(error))
        findings: list[Finding] = []
        # A program inside the run folder would have to be made by the run itself.
        found = find_executable(argv, directory)
        if found is None and RUN_DIR not in program.command[0]:
            message = (
                f"{argv[0]} is not found or not executable; write its whole path, or {{here}}/NAME"
            )
            return _blocked("algorithm", message)
        plan = {
            "argv": argv,
            "program": found,
            "directory": directory,
            "parameters": program.values(spec),
            "record": spec.record.value,
        }
        return CheckReport(ok=True, findings=findings, plan=plan)

    def train(self, context: TrainContext) -> None:
        """Run the program to its end and record what it printed.

        Raises:
            ProgramRefused: the spec is one that `check` calls blocking.
            SystemExit: with the program's own exit code when that is not 0.
        """
        spec = context.spec
        program = self._program(spec)
        argv, directory = self._launch(program, spec, context.run_dir, _run_id())
        config = _config(spec, argv, program.values(spec), program.total_steps(spec))
        config |= git_state(self._here)
        self.ending = run_program(context, argv, Path(directory), config)
        _leave_as(self.ending)

    def _program(self, spec: RunSpec) -> Program:
        known = self._file.algorithms
        if spec.algorithm not in known:
            raise ProgramRefused(
                f"there is no algorithm {spec.algorithm!r} here; known are {', '.join(known)}"
            )
        if self._file.environments and spec.environment not in self._file.environments:
            raise ProgramRefused(
                f"there is no environment {spec.environment!r} here; known are "
                f"{', '.join(self._file.environments)}"
            )
        return known[spec.algorithm]

    def _launch(
        self, program: Program, spec: RunSpec, run_dir: Path, run_id: str
    ) -> tuple[list[str], str]:
        places = {HERE: str(self._here), RUN_DIR: str(run_dir), RUN_ID: run_id}
        directory = program.directory
        for name, place in places.items():
            directory = directory.replace(f"{{{name}}}", place)
        return program.argv(spec, places), directory

    def _algorithm(self, name: str, program: Program) -> Algorithm:
        fields = {key: dict(_FIELDS[key]) for key in _FIELDS if key in program.placeholders}
        if STEPS in fields and program.steps is not None:
            fields[STEPS]["default"] = program.steps
        required = [key for key, schema in program.parameters.items() if "default" not in schema]
        asked = program.placeholders
        return Algorithm(
            id=name,
            title=program.title or name,
            summary=program.summary,
            parameters={
                "type": "object",
                "properties": {**fields, **program.parameters},
                "required": required,
                "additionalProperties": False,
            },
            default_environment=next(iter(self._file.environments), None),
            steps_parameter=STEPS if STEPS in asked else None,
            seed_parameter=SEED if SEED in asked else None,
            environment_parameter=ENVIRONMENT if ENVIRONMENT in asked else None,
            tells=program.tells,
        )


class BareProgram:
    """A worker for a command line that no file describes. It is executed unchanged."""

    def __init__(self, argv: list[str], directory: Path) -> None:
        self._argv = argv
        self._directory = directory
        self.ending: Ending | None = None

    def describe(self) -> WorkerDescription:
        """Return an empty description."""
        raise ProgramRefused("only a worker with a program.toml can be described")

    def check(self, spec: RunSpec) -> CheckReport:
        """Accept every spec."""
        raise ProgramRefused("only a worker with a program.toml can be checked")

    def train(self, context: TrainContext) -> None:
        """As `PipeWorker.train`."""
        spec = context.spec
        config = _config(spec, self._argv, dict(spec.parameters), spec.steps)
        config |= git_state(self._directory)
        self.ending = run_program(context, self._argv, self._directory, config)
        _leave_as(self.ending)


def run_program(
    context: TrainContext, argv: list[str], directory: Path, config: dict[str, Any]
) -> Ending:
    """Run a program as this run: its lines become events, and its end becomes the run's terminal event.

    Raises:
        SystemExit: it could not be started; exit code 127 or 126.
    """
    translator = Translator(context.telemetry, config, directory)
    splitter = LineSplitter()
    files_due = 0.0

    def on_chunk(stream: str, chunk: bytes) -> None:
        translator.note_output()
        if stream == STDOUT:
            translator.take_all(splitter.cut(chunk))

    def on_idle() -> None:
        nonlocal files_due
        translator.tick()
        if time.monotonic() >= files_due:
            if context.telemetry.restore_files():
                context.telemetry.note("files", DELETED, kept=True)
            files_due = time.monotonic() + _FILES_LOOK_S

    environment = program_environment(os.environ, context.run_dir)
    child = Child(argv, directory, environment, context.stop, on_chunk, on_idle)
    try:
        ending = child.run()
    except ProgramNotStarted as error:
        print(f"mosaic-pipe: {error}", file=sys.stderr)  # noqa: T201 - the run's log
        translator.begin()
        context.telemetry.lifecycle("error", {"message": str(error)})
        sys.exit(error.exit_code)
    translator.take_all(splitter.finish())
    _record_end(context, translator, ending)
    return ending


def _record_end(context: TrainContext, translator: Translator, ending: Ending) -> None:
    if ending.is_left_open:
        translator.refuse(
            "output_left_open",
            "the program ended, and a process that it left behind still holds its output open; what that prints "
            "is not recorded. End helpers before the program ends",
        )
    if ending.lost_bytes:
        translator.refuse(
            "output_lost",
            f"{ending.lost_bytes} bytes of output reached no log: the disk is full, or its reader was too slow",
        )
    translator.finish()
    data = {"message": f"the program {ending.words}", "exit_code": ending.code}
    if ending.code == 0:
        context.telemetry.lifecycle("stopped" if context.stop.requested else "done", data)
    else:
        phase = "stopped" if context.stop.requested else "error"
        context.telemetry.lifecycle(phase, {**data, "signal": ending.signal})


def _config(
    spec: RunSpec, argv: list[str], arguments: dict[str, Any], total_steps: int | None
) -> dict[str, Any]:
    return {
        "algorithm": spec.algorithm,
        "environment": spec.environment,
        "seed": spec.seed,
        "argv": argv,
        "arguments": arguments,
        "num_envs": 1,
        "spaces": {},
        "packages": {},
        "record": spec.record.value,
        "total_steps": total_steps,
    }


def _leave_as(ending: Ending) -> None:
    """With the program's exit code; a signal is passed on when the telemetry is closed."""
    if ending.code:
        sys.exit(ending.code)


def _run_id() -> str:
    return os.environ.get(ENV_RUN_ID, "")


def _blocked(where: str, message: str) -> CheckReport:
    return CheckReport(ok=False, findings=[Finding(level="blocking", where=where, message=message)])


def program_environment(around: Mapping[str, str], run_dir: Path) -> dict[str, str]:
    """Return the environment of the program, made from the pipe's own.

    A Python program's stdout is line-buffered: a line comes at once and in one write, so that lines of several
    processes stay whole.
    """
    environment = {**around, ENV_RUN_DIR: str(run_dir)}
    if _RUNNER in environment:
        environment.pop("PYTHONUNBUFFERED", None)
    paths = [str(_LINE_BUFFERING), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = ":".join(path for path in paths if path)
    return environment
