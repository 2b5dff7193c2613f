"""The command line: runs one verb, and is the one place where faults become messages and exit codes."""

import atexit
import errno
import gc
import os
import sys
from typing import TYPE_CHECKING, NoReturn

from mosaic_cli import completing
from mosaic_cli.streams import open_closed_streams, replace_what_cannot_be_shown

if TYPE_CHECKING:
    import typer

    from mosaic_cli.exit_code import ExitCode
    from mosaic_contracts.problems import Problem

_OBJECTS_A_COLLECTION = 50_000
"""Python's own threshold, 700, makes garbage collection a tenth of all work while modules are imported."""

_DISK_FAULTS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


def main() -> None:
    """Run one verb. Expected faults end with a message and their exit code, never with a traceback."""
    open_closed_streams()
    replace_what_cannot_be_shown()
    if completing.is_asked():
        completing.main()
        return
    gc.set_threshold(_OBJECTS_A_COLLECTION)
    # Else the interpreter looks through all modules for rings before it ends: a tenth of the time of most verbs.
    atexit.register(gc.freeze)
    import typer

    from mosaic_cli.command_name import command_name
    from mosaic_cli.errors import CliError, ReaderGone
    from mosaic_cli.exit_code import ExitCode, code_of_problem
    from mosaic_cli.program import program
    from mosaic_client.errors import ClientError, FileUnusable, MosaicProblem

    try:
        code = program(sys.argv[1:])(prog_name=command_name(), standalone_mode=False)
        sys.exit(code or ExitCode.DONE)
    except typer.TyperException as fault:
        _show_fault(fault)
        sys.exit(fault.exit_code)
    except typer.Abort:
        _end("Nothing was done.", ExitCode.RUN_FAILED)
    except ReaderGone as gone:
        _drop_output()
        sys.exit(gone.code)
    except CliError as error:
        _end(str(error), error.code)
    except MosaicProblem as error:
        _end(problem_text(error.problem), code_of_problem(error.problem.code))
    except FileUnusable as error:
        _end(str(error), ExitCode.USAGE)
    except ClientError as error:
        _end(str(error), ExitCode.NO_STACK)
    except OSError as error:
        if error.errno not in _DISK_FAULTS:
            raise
        _drop_output()
        _end(f"The output cannot be written ({error.strerror}).", ExitCode.NOT_NOW)
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)


def _drop_output() -> None:
    """Discard what is still buffered for stdout, which Python would try to write at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_fault(fault: "typer.TyperException") -> None:
    """Say what is wrong with a command line, and where its help is; where no verb was named, show the help itself."""
    from mosaic_cli.output import say

    message = fault.format_message()
    context = getattr(fault, "ctx", None)
    if context is None or message.lstrip().startswith("Usage:"):
        say(message)
    else:
        _say_prefixed(f"{message}\n{context.get_usage()}\nTry '{context.command_path} --help'.")


def problem_text(problem: "Problem") -> str:
    """A problem in words, with its findings and the nearest known names."""
    from mosaic_cli.reference import nearest_hint
    from mosaic_contracts.problem_codes import ProblemCode

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


def _end(message: str, code: "ExitCode") -> NoReturn:
    _say_prefixed(message)
    sys.exit(code)


def _say_prefixed(message: str) -> None:
    from mosaic_cli.output import err, say

    err.print("mosaic: ", style="bold red", end="")
    say(message)
