"""Which stack a verb talks to: the one of this machine, or one elsewhere by `--url` and its companions."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from mosaic_cli.option_group import leave_to_shell
from mosaic_client import Client, find_stack

PANEL = "A stack elsewhere"

Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        metavar="URL",
        help="Its address, e.g. https://lab:8443, or http://127.0.0.1:8080 through a tunnel; also MOSAIC_URL.",
        rich_help_panel=PANEL,
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help="File with its token; also MOSAIC_TOKEN_FILE.",
        autocompletion=leave_to_shell,
        rich_help_panel=PANEL,
    ),
]
CaFile = Annotated[
    Path | None,
    typer.Option(
        "--ca-file",
        metavar="FILE",
        help="Copy of its secrets/gateway.crt, if it made its certificate itself; also MOSAIC_CA_FILE.",
        autocompletion=leave_to_shell,
        rich_help_panel=PANEL,
    ),
]


def is_elsewhere() -> bool:
    """Whether the verbs talk to a stack that a person named, and not to the one of this data root."""
    return bool(os.environ.get("MOSAIC_URL"))


def client_here() -> Client:
    """A client of the stack of this data root, whatever else was named.

    Raises:
        StackUnreachable: there is none.
        TokenUnreadable: its token cannot be read.
    """
    elsewhere = ("MOSAIC_URL", "MOSAIC_TOKEN_FILE", "MOSAIC_CA_FILE")
    return Client(find_stack({k: v for k, v in os.environ.items() if k not in elsewhere}))


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
