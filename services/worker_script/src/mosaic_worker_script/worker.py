"""The worker `script`: a command line of the user's own is one run."""

import sys
from typing import Any

from mosaic_contracts.choices import UNKNOWN_ENVIRONMENT
from mosaic_contracts.spec import RecordLevel, RunSpec
from mosaic_contracts.worker import Algorithm, CheckReport, Finding, WorkerDescription
from mosaic_worker_script.command import (
    COMMAND,
    DIRECTORY,
    EXPECTED_STEPS,
    VARIABLES,
    read_command,
)
from mosaic_worker_script.errors import CommandRefused
from mosaic_worker_script.running import LISTENED, run_script
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.pipe.child import Ending

VERSION = "1"
ALGORITHM = "command"
_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        COMMAND: {
            "type": "string",
            "title": "Command line",
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
        VARIABLES: {
            "type": "string",
            "title": "Variables",
            "description": "Environment variables in addition to those of the stack: NAME=VALUE, with spaces between, "
            "quoted as in a shell.",
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
                    default_environment=UNKNOWN_ENVIRONMENT,
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
            "variables": dict(command.variables),
            "listens_to": LISTENED,
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
        parameters = context.spec.parameters
        command = read_command(parameters).with_seed(context.spec.seed)
        steps = parameters.get(EXPECTED_STEPS)
        total = steps if isinstance(steps, int) else None
        self.ending = run_script(context, command, dict(parameters), total)
        if self.ending.code:
            sys.exit(self.ending.code)
