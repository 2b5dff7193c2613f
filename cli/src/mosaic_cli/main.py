"""The command line: the verbs, and the one place where faults become messages and exit codes."""

import os
import sys

import typer
from typer._completion_classes import completion_init

from mosaic_cli.command_name import command_name
from mosaic_cli.completion import COMPLETE_VARIABLE
from mosaic_cli.errors import CliError, ReaderGone
from mosaic_cli.exit_code import EPILOG, ExitCode, code_of_problem
from mosaic_cli.option_group import Verb, spread
from mosaic_cli.output import err, say
from mosaic_cli.place import Place
from mosaic_cli.reference import nearest_hint
from mosaic_cli.verbs import (
    artifacts,
    beliefs,
    change,
    completion,
    demo,
    doctor,
    export,
    gpus,
    images,
    logs,
    play,
    queue,
    run,
    runs,
    secret,
    stack,
    telemetry,
    top,
    worker_check,
    workers,
    xmpp,
)
from mosaic_client import ClientError, MosaicProblem
from mosaic_contracts.problems import Problem, ProblemCode

app = typer.Typer(
    name="./mosaic",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)

BEGIN, LOOK, CHANGE, CARE = "Begin", "Look", "Change", "Care"
_HERE_ONLY = (
    stack.up,
    stack.down,
    demo.demo,
    worker_check.worker_check,
    doctor.version,
    images.images,
    xmpp.xmpp,
)
"""Verbs of this machine alone; all others may be asked of a stack elsewhere."""
_VERBS = (
    (BEGIN, demo.demo),
    (BEGIN, run.run),
    (BEGIN, play.play),
    (BEGIN, stack.up),
    (BEGIN, stack.down),
    (BEGIN, stack.status),
    (LOOK, runs.ps),
    (LOOK, runs.show),
    (LOOK, logs.logs),
    (LOOK, telemetry.events),
    (LOOK, telemetry.episodes),
    (LOOK, telemetry.metrics),
    (LOOK, beliefs.beliefs),
    (LOOK, export.export),
    (LOOK, artifacts.artifacts),
    (LOOK, artifacts.download),
    (LOOK, artifacts.link),
    (LOOK, top.top),
    (LOOK, gpus.gpus),
    (CHANGE, runs.stop),
    (CHANGE, change.retry),
    (CHANGE, change.clone),
    (CHANGE, change.tag),
    (CHANGE, change.note),
    (CHANGE, change.rm),
    (CHANGE, change.restore),
    (CARE, run.check),
    (CARE, run.preflight),
    (CARE, workers.workers),
    (CARE, workers.describe),
    (CARE, worker_check.worker_check),
    (CARE, doctor.doctor),
    (CARE, completion.completion),
    (CARE, doctor.version),
)
_ALSO = {"list": "ls", "ls": "list"}
"""Who has the other one in their fingers is understood as well."""
_QUEUE: dict[str, Verb] = {
    "list": queue.list_queue,
    "hold": queue.hold,
    "release": queue.release,
    "priority": queue.priority,
    "move": queue.move,
}
_XMPP: dict[str, Verb] = {"up": xmpp.up, "down": xmpp.down, "status": xmpp.status}
_SECRET: dict[str, Verb] = {
    "set": secret.set_secret,
    "ls": secret.list_secrets,
    "rm": secret.remove_secret,
}
_IMAGES: dict[str, Verb] = {"list": images.list_images, "build": images.build}


def _add_group(verb: Verb, panel: str, verbs: dict[str, Verb], *, acts_alone: bool = False) -> None:
    group = typer.Typer(no_args_is_help=not acts_alone, invoke_without_command=acts_alone)
    elsewhere = () if verb in _HERE_ONLY else (Place,)
    group.callback(epilog=EPILOG)(spread(verb, *elsewhere))
    for word, inner in verbs.items():
        # a number below zero is a value and no option
        settings = {"ignore_unknown_options": inner is queue.priority}
        group.command(word, epilog=EPILOG, context_settings=settings)(spread(inner, *elsewhere))
        if word in _ALSO:
            group.command(_ALSO[word], epilog=EPILOG, hidden=True)(spread(inner, *elsewhere))
    app.add_typer(group, name=verb.__name__, rich_help_panel=panel)


def _mosaic() -> None:
    """Train reinforcement-learning agents on this machine, and keep every step they take."""


app.callback(epilog=EPILOG)(spread(_mosaic, Place))
for _panel, _verb in _VERBS:
    _elsewhere = () if _verb in _HERE_ONLY else (Place,)
    app.command(rich_help_panel=_panel, epilog=EPILOG)(spread(_verb, *_elsewhere))
_add_group(queue.queue, CHANGE, _QUEUE, acts_alone=True)
_add_group(secret.secret, CARE, _SECRET)
_add_group(xmpp.xmpp, CARE, _XMPP)
_add_group(images.images, CARE, _IMAGES, acts_alone=True)


def main() -> None:
    """Run one verb. Expected faults end with a message and their exit code, never with a traceback."""
    if COMPLETE_VARIABLE in os.environ:
        completion_init()  # else typer knows of no shell, as it is told to add no options for that
    try:
        app(prog_name=command_name(), complete_var=COMPLETE_VARIABLE)
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
    if problem.code is ProblemCode.CONSENT_REQUIRED:
        lines.append(
            "`./mosaic preflight` with the same words shows what it needs and the digest for --consent."
        )
    if problem.retry_after_s:
        lines.append(f"Try again in {problem.retry_after_s:.0f} s.")
    return "\n".join(lines)


def _end(message: str, code: ExitCode) -> None:
    err.print("mosaic: ", style="bold red", end="")
    say(message)
    sys.exit(code)
