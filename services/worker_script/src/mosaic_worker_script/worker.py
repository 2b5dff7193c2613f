"""The worker `script`: a command line of the user's own is one run."""

import os
import sys
import time
from pathlib import Path
from typing import Any

import mosaic_hook
from mosaic_contracts.launch import ENV_RUN_DIR
from mosaic_contracts.spec import RecordLevel, RunSpec
from mosaic_contracts.worker import Algorithm, CheckReport, Finding, WorkerDescription
from mosaic_hook.settings import VARIABLE, HookSettings
from mosaic_worker_script.adopted import AdoptedFiles
from mosaic_worker_script.command import (
    COMMAND,
    DIRECTORY,
    EXPECTED_STEPS,
    ScriptCommand,
    read_command,
)
from mosaic_worker_script.errors import CommandRefused
from mosaic_worker_script.hearing import Hearing
from mosaic_worker_script.spool import SpoolReader
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.git_state import git_state
from mosaic_workerkit.own_files import DELETED
from mosaic_workerkit.pipe.child import STDOUT, Child, Ending
from mosaic_workerkit.pipe.errors import ProgramNotStarted
from mosaic_workerkit.pipe.lines import LineSplitter
from mosaic_workerkit.pipe.translation import Translator

VERSION = "1"
ALGORITHM = "command"
SPOOL = "spool"
"""Folder of the spool in a run's folder."""
START_WAIT_S = 60.0
"""Seconds that a script has to make its first environment, from when it is heard. Then the config is written without
its spaces."""
_FILES_LOOK_S = 0.5
_START = Path(mosaic_hook.__file__).parent / "start"
_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        COMMAND: {
            "type": "string",
            "title": "ScriptCommand line",
            "description": "What is executed, in words as a shell splits them; no shell sees it.",
            "minLength": 1,
        },
        DIRECTORY: {
            "type": "string",
            "title": "Folder",
            "description": "The folder in which it is executed, as a whole path.",
            "minLength": 1,
        },
        EXPECTED_STEPS: {
            "type": "integer",
            "title": "Expected steps",
            "description": "Environment steps that the script will take, for the progress bar only.",
            "minimum": 1,
        },
    },
    "required": [COMMAND, DIRECTORY],
    "additionalProperties": False,
}


class ScriptWorker:
    """Runs the command line of each run and records what is heard in it."""

    def __init__(self) -> None:
        self.ending: Ending | None = None
        """How the script ended, once it has."""

    def describe(self) -> WorkerDescription:
        """Return what this worker can do."""
        return WorkerDescription(
            worker="script",
            version=VERSION,
            title="Your own Python scripts",
            summary="Runs a training script as it is, in its own environment, and records its episodes and metrics.",
            record_levels=[level.value for level in RecordLevel],
            algorithms=[
                Algorithm(
                    id=ALGORITHM,
                    title="A command line",
                    summary="`./mosaic run ./train.py -- ARGUMENTS` writes the parameters.",
                    parameters=_PARAMETERS,
                    default_environment="unknown",
                )
            ],
            environments=[],
            needs_consent=True,
        )

    def check(self, spec: RunSpec) -> CheckReport:
        """Return the command that would be executed."""
        try:
            command = read_command(spec.parameters)
        except CommandRefused as error:
            finding = Finding(level="blocking", where="parameters", message=str(error))
            return CheckReport(ok=False, findings=[finding])
        plan = {
            "argv": command.argv,
            "program": command.program,
            "directory": str(command.directory),
            "listens_to": "gymnasium, gym, TensorBoard, W&B, mlflow, Stable-Baselines3, torch.save, safetensors",
            "record": spec.record.value,
        }
        need = f"to run {command.script} in {command.directory} as the stack's user, outside of any container"
        return CheckReport(ok=True, findings=[], plan=plan, needs=[need])

    def train(self, context: TrainContext) -> None:
        """Run the script to its end.

        Raises:
            CommandRefused: the spec is one that `check` calls blocking.
            SystemExit: with the script's own exit code when that is not 0.
        """
        self.ending = _run(
            context, read_command(context.spec.parameters).with_seed(context.spec.seed)
        )
        if self.ending.code:
            sys.exit(self.ending.code)


def _run(context: TrainContext, command: ScriptCommand) -> Ending:
    spec, telemetry = context.spec, context.telemetry
    config = _config(spec, command)
    translator = Translator(telemetry, config, command.directory)
    files = AdoptedFiles(telemetry, context.run_dir)
    hearing = Hearing(telemetry, translator, config, files)
    reader = SpoolReader(context.run_dir / SPOOL, hearing.take)
    splitter = LineSplitter()
    began = time.monotonic()
    files_due = 0.0

    def on_chunk(stream: str, chunk: bytes) -> None:
        if not hearing.has_process:
            translator.note_output()
        # Lines that the script prints are events as long as nothing better is heard.
        if stream == STDOUT and not hearing.has_events:
            translator.take_all(splitter.cut(chunk))

    def on_idle() -> None:
        nonlocal files_due
        reader.read()
        now = time.monotonic()
        if hearing.has_process and now - began > START_WAIT_S:
            translator.begin()
        elif not hearing.has_process:
            translator.tick()
        if now >= files_due:
            if telemetry.restore_files():
                telemetry.note("files", DELETED, kept=True)
            files_due = now + _FILES_LOOK_S

    child = Child(
        command.argv,
        command.directory,
        _environment(context, command, reader.folder),
        context.stop,
        on_chunk,
        on_idle,
        (reader.bell, reader.hear),
    )
    try:
        ending = child.run()
    except ProgramNotStarted as error:
        print(f"MOSAIC: {error}", file=sys.stderr)  # noqa: T201 - the run's log
        translator.begin()
        telemetry.lifecycle("error", {"message": str(error)})
        sys.exit(error.exit_code)
    reader.read()
    if not hearing.has_events:
        translator.take_all(splitter.finish())
    files.finish()
    _record_end(context, translator, hearing, ending)
    reader.close()
    return ending


def _record_end(
    context: TrainContext, translator: Translator, hearing: Hearing, ending: Ending
) -> None:
    telemetry = context.telemetry
    translator.begin()
    if not hearing.has_process:
        words = (
            "The script was not listened to: it is no Python program, or was started with -I, -E or -S, or dropped "
            "PYTHONPATH. Its output is in the log."
        )
        telemetry.note("not-heard", words, kept=True)
    elif not hearing.has_events and not translator.events_read:
        words = (
            "Nothing was heard: the script makes no environment by gymnasium.make or gym.make, and logs to none of "
            "TensorBoard, W&B, mlflow and Stable-Baselines3. Its output is in the log."
        )
        telemetry.note("not-heard", words, kept=True)
    telemetry.extra("script.heard", {"libraries": hearing.libraries, "steps": hearing.global_step})
    data = {"message": f"the script {ending.words}", "exit_code": ending.code}
    if ending.code == 0:
        telemetry.lifecycle("stopped" if context.stop.requested else "done", data)
    else:
        phase = "stopped" if context.stop.requested else "error"
        telemetry.lifecycle(phase, {**data, "signal": ending.signal})


def _config(spec: Any, command: ScriptCommand) -> dict[str, Any]:
    return {
        "algorithm": spec.algorithm,
        "environment": spec.environment,
        "seed": spec.seed,
        "argv": command.argv,
        "directory": str(command.directory),
        "arguments": dict(spec.parameters),
        "num_envs": 1,
        "spaces": {},
        "packages": {},
        "record": spec.record.value,
        "total_steps": spec.parameters.get(EXPECTED_STEPS),
        **git_state(command.directory),
    }


def _environment(context: TrainContext, command: ScriptCommand, spool: Path) -> dict[str, str]:
    """The script's environment: the run's own, its interpreter first in PATH, and the hook in front of PYTHONPATH."""
    spec = context.spec
    environment = {**os.environ, ENV_RUN_DIR: str(context.run_dir)}
    environment.pop("PYTHONUNBUFFERED", None)
    environment["PATH"] = command.search_path(os.environ)
    prefix = Path(command.argv[0]).parent.parent
    if (prefix / "pyvenv.cfg").is_file():
        environment["VIRTUAL_ENV"] = str(prefix)
    paths = [str(_START), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = ":".join(path for path in paths if path)
    environment[VARIABLE] = HookSettings(str(spool), spec.record.value, spec.replay_every).text()
    return environment
