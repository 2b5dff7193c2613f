"""The command line: the verbs, and the one place where faults become messages and exit codes."""

import os
import sys

import typer

from mosaic_cli.errors import CliError, ReaderGone
from mosaic_cli.exit_code import EPILOG, ExitCode, code_of_problem
from mosaic_cli.output import err, say
from mosaic_cli.reference import nearest_hint
from mosaic_cli.verbs import demo, doctor, logs, run, runs, stack, telemetry, worker_check, workers
from mosaic_client import ClientError, MosaicProblem
from mosaic_contracts.problems import Problem

app = typer.Typer(
    name="./mosaic",
    help="Train reinforcement-learning agents on this machine, and keep every step they take.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)

BEGIN, LOOK, CARE = "Begin", "Look", "Care"
_VERBS = (
    (BEGIN, demo.demo),
    (BEGIN, run.run),
    (BEGIN, stack.up),
    (BEGIN, stack.down),
    (BEGIN, stack.status),
    (LOOK, runs.ps),
    (LOOK, runs.show),
    (LOOK, logs.logs),
    (LOOK, telemetry.events),
    (LOOK, telemetry.episodes),
    (LOOK, telemetry.metrics),
    (LOOK, telemetry.export),
    (CARE, runs.stop),
    (CARE, run.check),
    (CARE, workers.describe),
    (CARE, worker_check.worker_check),
    (CARE, doctor.doctor),
    (CARE, doctor.version),
)
for _panel, _verb in _VERBS:
    app.command(rich_help_panel=_panel, epilog=EPILOG)(_verb)


def main() -> None:
    """Run one verb. Expected faults end with a message and their exit code, never with a traceback."""
    try:
        app(prog_name="./mosaic")
    except ReaderGone as gone:
        # what is still buffered has nowhere to go; at exit Python would complain of that
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(gone.code)
    except CliError as error:
        _end(str(error), error.code)
    except MosaicProblem as error:
        _end(problem_text(error.problem), code_of_problem(error.problem.code))
    except ClientError as error:
        _end(str(error), ExitCode.NO_STACK)
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)


def problem_text(problem: Problem) -> str:
    """A problem in words, with its findings and the nearest known names."""
    lines = [f"{problem.title.rstrip('.')}. {problem.detail}".strip()]
    for finding in problem.fields:
        where, message = finding.get("where"), str(finding.get("message", ""))
        hint = nearest_hint(finding.get("nearest") or [], lines[0] + message)
        if message not in lines[0] or hint:
            lines.append(f"  {where}: {message}{hint}")
    if problem.retry_after_s:
        lines.append(f"Try again in {problem.retry_after_s:.0f} s.")
    return "\n".join(lines)


def _end(message: str, code: ExitCode) -> None:
    err.print("mosaic: ", style="bold red", end="")
    say(message)
    sys.exit(code)
