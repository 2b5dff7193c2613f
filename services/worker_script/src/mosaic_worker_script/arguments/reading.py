"""Reads the arguments of a script, whichever library declares them."""

import ast
import re
from pathlib import Path

from mosaic_worker_script.arguments.argparse_calls import argparse_arguments
from mosaic_worker_script.arguments.argument import ScriptArgument
from mosaic_worker_script.arguments.declared_fields import class_arguments, function_arguments
from mosaic_worker_script.arguments.hydra_config import hydra_arguments
from mosaic_worker_script.arguments.literals import module_values
from mosaic_worker_script.arguments.option_calls import absl_arguments, click_arguments
from mosaic_worker_script.errors import ScriptUnreadable

MAX_BYTES = 4 * 2**20
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_READERS = (
    argparse_arguments,
    class_arguments,
    click_arguments,
    absl_arguments,
    function_arguments,
)


def read_arguments(path: Path) -> list[ScriptArgument]:
    """Return the arguments that a script declares; empty: none in a form that is known.

    Known are argparse, tyro, HfArgumentParser, simple-parsing, click, `typer.run`, absl, fire and hydra. A default that
    is computed is unknown.

    Args:
        path: of the script.

    Raises:
        ScriptUnreadable: it cannot be read, or is no Python; or a file of its configuration cannot be read.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ScriptUnreadable(f"{path} is larger than 4 MiB; is it a script?")
        tree = ast.parse(path.read_bytes(), str(path))
    except OSError as error:
        raise ScriptUnreadable(f"{path} cannot be read: {error.strerror}") from error
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ScriptUnreadable(f"{path} is no Python that {_version()} reads: {error}") from error
    names = module_values(tree)
    for reader in _READERS:
        found = [argument for argument in reader(tree, names) if _NAME.fullmatch(argument.name)]
        if found:
            return list({argument.name: argument for argument in found}.values())
    return [one for one in hydra_arguments(tree, names, path.parent) if _NAME.fullmatch(one.name)]


def _version() -> str:
    import platform

    return f"Python {platform.python_version()}"
