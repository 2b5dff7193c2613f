"""`secret`: values that runs are given as files and nobody is shown again."""

import re
import sys
from typing import Annotated

import typer
from rich.table import Table

from mosaic_cli import option
from mosaic_cli.errors import ValueRefused
from mosaic_cli.output import emit, out, say
from mosaic_cli.target import open_client
from mosaic_cli.wording import age
from mosaic_contracts.choices import SECRET_NAME_PATTERN

Name = Annotated[str, typer.Argument(metavar="NAME", help="Letters, digits and _, e.g. WANDB_KEY.")]


def secret() -> None:
    """Store, list and delete secrets: values that runs receive as files and that are never shown."""


def set_secret(name: Name, json: option.Json = False) -> None:
    """Store a secret. Its value is asked for, or read from stdin if that is no terminal.

    No option takes the value, because other users of a machine can read command lines. A line end at its end is
    removed.
    """
    from pydantic import SecretStr, ValidationError

    from mosaic_contracts.access import SecretValue

    _check_name(name)
    if sys.stdin.isatty():
        value = typer.prompt(f"Value of {name}", hide_input=True, err=True)
    else:
        value = sys.stdin.read().removesuffix("\n").removesuffix("\r")
    try:
        SecretValue(value=SecretStr(value))
    except ValidationError:
        raise ValueRefused(
            "A secret has 1 to 65536 characters. Nothing was stored."
        ) from None  # it would quote the value
    with open_client() as client:
        entry = client.set_secret(name, value)
    emit(entry) if json else say(f"{entry.name} is kept. Runs get it with `--secret {entry.name}`.")


def list_secrets(json: option.Json = False) -> None:
    """List the names of the secrets; their values are never shown."""
    with open_client() as client:
        entries = client.secrets()
        now = client.now()
    if json:
        emit(entries)
    elif not entries:
        say("No secrets are kept. `./mosaic secret set NAME` keeps one.")
    else:
        table = Table(box=None, pad_edge=False)
        table.add_column("SECRET")
        table.add_column("SET", justify="right")
        for entry in entries:
            table.add_row(entry.name, age(entry.updated_at, now))
        out.print(table)


def remove_secret(name: Name, json: option.Json = False) -> None:
    """Delete a secret. Runs that have it keep it; waiting runs that need it will not start."""
    _check_name(name)
    with open_client() as client:
        client.delete_secret(name)
    emit({"name": name}) if json else say(f"{name} is deleted.")


def _check_name(name: str) -> None:
    if re.fullmatch(SECRET_NAME_PATTERN, name) is None:
        raise ValueRefused(
            "A secret's name has letters, digits and _, begins with a letter and has 64 characters at most."
        )
