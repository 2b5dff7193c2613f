"""`doctor`: what this machine has, and what to do about what it has not."""

import typer
from rich.table import Table
from rich.text import Text

from mosaic_cli import option
from mosaic_cli.command_name import with_command_name
from mosaic_cli.exit_code import ExitCode
from mosaic_cli.output import emit, out
from mosaic_cli.stack.layout import Layout
from mosaic_cli.wording import LEVEL_STYLE


def doctor(json: option.Json = False) -> None:
    """Check this machine and the stack; exit code 1 if a problem keeps runs from starting."""
    from mosaic_cli.examination import examine  # imports what each check needs

    findings = examine(Layout.of_environment())
    is_blocked = any(finding.level == "blocking" for finding in findings)
    if json:
        emit({"ok": not is_blocked, "findings": findings})
    else:
        table = Table(box=None, pad_edge=False, show_header=False)
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for finding in findings:
            table.add_row(
                Text(finding.level, LEVEL_STYLE[finding.level]),
                finding.where,
                Text(with_command_name(finding.message)),
            )
        out.print(table)
    raise typer.Exit(ExitCode.RUN_FAILED if is_blocked else ExitCode.DONE)
