"""The options that name a stack elsewhere: `--url` and its companions."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

PANEL = "A stack elsewhere"

Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        metavar="URL",
        help="Address of the stack, e.g. https://lab:8443, or http://127.0.0.1:8080 through a "
        "tunnel; also MOSAIC_URL.",
        rich_help_panel=PANEL,
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help="File with the stack's token; also MOSAIC_TOKEN_FILE.",
        rich_help_panel=PANEL,
    ),
]
CaFile = Annotated[
    Path | None,
    typer.Option(
        "--ca-file",
        metavar="FILE",
        help="Copy of the stack's secrets/gateway.crt, if it uses a certificate of its own; "
        "also MOSAIC_CA_FILE.",
        rich_help_panel=PANEL,
    ),
]


@dataclass(frozen=True)
class Place:
    """The options that name a stack; called, they hold for all that this process does."""

    url: Url = None
    token_file: TokenFile = None
    ca_file: CaFile = None

    def __call__(self) -> None:
        """What was not given stays as the environment has it."""
        if self.url is not None:
            os.environ["MOSAIC_URL"] = self.url
        if self.token_file is not None:
            os.environ["MOSAIC_TOKEN_FILE"] = str(self.token_file.expanduser().absolute())
        if self.ca_file is not None:
            os.environ["MOSAIC_CA_FILE"] = str(self.ca_file.expanduser().absolute())
