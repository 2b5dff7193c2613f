"""How a job's script starts the runner: in the node's environment, or in an image."""

import shlex
from typing import NamedTuple

from mosaic_contracts.interpreter import python_module
from mosaic_scheduler.executors.protocol import LaunchSpec
from mosaic_scheduler.executors.run_folder import RUNNER_MODULE, RunFolder

NO_PROGRAM = 127
"""What a shell ends with where a program does not exist."""


class JobStart(NamedTuple):
    """Parts of a shell script."""

    checks: list[str]
    """Lines that end the script with `NO_PROGRAM` and one line of words where the node lacks something."""
    exports: list[str]
    """Lines that set variables."""
    argv: list[str]
    """Command that takes the place of the shell."""


def runner_argv(there: RunFolder, launch_spec: LaunchSpec) -> list[str]:
    """Command of the runner.

    Args:
        there: the run's folder as the node has it.
        launch_spec: of the attempt.
    """
    return python_module(launch_spec.python, RUNNER_MODULE, "--run-dir", str(there.path))


def start_in_environment(there: RunFolder, launch_spec: LaunchSpec) -> JobStart:
    """Start the runner by the interpreter of the worker's environment. See `runner_argv`."""
    missing = (
        f"{launch_spec.python} is not on this node: the workers' environments must be at the same path as on the "
        "stack's machine."
    )
    variables = there.environment()
    return JobStart(
        checks=[end_without(f"command -v {shlex.quote(launch_spec.python)} >/dev/null", missing)],
        exports=[f"export {name}={shlex.quote(value)}" for name, value in variables.items()],
        argv=runner_argv(there, launch_spec),
    )


def end_without(test: str, words: str) -> str:
    """The line that ends a script with these words unless a command succeeds."""
    return f"{test} || {{ echo {shlex.quote(words)} >&2; exit {NO_PROGRAM}; }}"
