"""Options and arguments that several verbs share."""

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Strict JSON on stdout, messages on stderr.")]
JsonLines = Annotated[
    bool, typer.Option("--json", help="One JSON object a line on stdout, messages on stderr.")
]
_RUN_HELP = "A run's id, the beginning of one, its name, or `last`."
Run = Annotated[
    str,
    typer.Argument(metavar="RUN", help=_RUN_HELP, show_default=False),
]
OneRun = Annotated[
    str | None,
    typer.Argument(metavar="[RUN]", help=_RUN_HELP, show_default=False),
]
Runs = Annotated[
    list[str],
    typer.Argument(metavar="RUN...", help=_RUN_HELP, show_default=False),
]
Detach = Annotated[bool, typer.Option("--detach", "-d", help="Print the id and return.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="Maximum number.")]
Types = Annotated[
    str | None,
    typer.Option("--types", "-t", help="Event types, comma separated, e.g. episode,metric."),
]
