"""Options and arguments that several verbs share."""

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Strict JSON on stdout, messages on stderr.")]
JsonLines = Annotated[
    bool, typer.Option("--json", help="One JSON object a line on stdout, messages on stderr.")
]
Run = Annotated[
    str,
    typer.Argument(
        metavar="RUN", help="A run's id, the beginning of one, or `last`.", show_default=False
    ),
]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="How many at most.")]
