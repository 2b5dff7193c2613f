"""`add`: a training script of the user's own becomes a worker, with its arguments as parameters."""

import re
import shutil
from pathlib import Path
from typing import Annotated

import typer

from mosaic_base.atomic import replace_file
from mosaic_cli import option
from mosaic_cli.errors import FileProblem, ValueRefused
from mosaic_cli.output import emit, out, say
from mosaic_cli.own_script import script_interpreter, with_values
from mosaic_cli.stack.layout import Layout

_ID = re.compile(r"[a-z][a-z0-9_]{0,39}")


def add(
    script: Annotated[Path, typer.Argument(metavar="SCRIPT", help="A Python script.")],
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- ARGUMENT...]", help="Arguments of every run."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="NAME", help="Id of the worker; default: the script's name."
        ),
    ] = None,
    python: Annotated[
        Path | None,
        typer.Option(
            "--python", metavar="PATH", help="Its interpreter; default: the shell's `python`."
        ),
    ] = None,
    env_var: Annotated[
        list[str] | None,
        typer.Option(
            "--env-var",
            metavar="NAME=VALUE",
            help="An environment variable of every run; NAME alone takes the value "
            "of your shell; may be repeated.",
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a script that was added with this name.")
    ] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Take it off the roster. Its runs and the script stay.")
    ] = False,
    json: option.Json = False,
) -> None:
    """Add a training script of your own to the workers, or take it off with --remove.

    Its arguments, as argparse, tyro, click, typer, absl or fire declare them, become parameters: of `run`, of the form
    in the window, of groups and of sweeps. They are read from the script, which is not run for that.
    """
    worker = name or _id_of(script)
    if _ID.fullmatch(worker) is None:
        raise ValueRefused(
            f"`{worker}` is no id of a worker. Give --name: small letters, digits and _, a letter first."
        )
    folder = Layout.of_environment().home / "workers.d" / worker
    if remove:
        _remove(folder, worker)
        return
    file = script.expanduser().absolute()
    if not file.is_file():
        raise FileProblem(f"There is no script {script}.")
    if folder.exists() and not ((folder / "script.toml").is_file() and replace):
        raise ValueRefused(
            f"There is a worker `{worker}` already. Give --replace or another --name."
        )
    interpreter = script_interpreter(python)
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(
        folder / "script.toml",
        _script_toml(worker, file, interpreter, words or [], with_values(env_var or [])),
    )
    replace_file(folder / "worker.toml", _worker_toml(worker, file))
    if json:
        emit({"worker": worker, "folder": str(folder)})
        return
    out.print(worker)
    say(
        f"  ./mosaic describe {worker}          its arguments\n"
        f"  ./mosaic run {worker} -p NAME=VALUE"
    )


def _remove(folder: Path, worker: str) -> None:
    if not (folder / "script.toml").is_file():
        raise ValueRefused(f"No script was added as `{worker}`.")
    shutil.rmtree(folder)
    say(f"{worker} is off the roster; its runs stay.")


def _id_of(script: Path) -> str:
    return re.sub(r"[^a-z0-9_]+", "_", script.stem.lower()).strip("_")


def _script_toml(
    worker: str, script: Path, python: Path, words: list[str], variables: list[str]
) -> str:
    listed, given = (", ".join(_quoted(word) for word in some) for some in (words, variables))
    return (
        f"id = {_quoted(worker)}\ntitle = {_quoted(script.name)}\nscript = {_quoted(str(script))}\n"
        f"python = {_quoted(str(python))}\ndirectory = {_quoted(str(script.parent))}\n"
        f"words = [{listed}]\nvariables = [{given}]\n"
    )


def _worker_toml(worker: str, script: Path) -> str:
    return (
        f"id = {_quoted(worker)}\ntitle = {_quoted(script.name)}\n"
        'room = "worker_script"\n'
        'command = ["{python}", "-m", "mosaic_worker_script", "{here}/script.toml", '
        f"{_quoted(str(script))}]\n"
        'device = "optional"\nhint = "Its environment is made by `./mosaic sync worker_script`."\n'
    )


def _quoted(text: str) -> str:
    """A text as a basic string of TOML."""
    if any(ord(letter) < 32 for letter in text):
        raise ValueRefused(f"{text!r} has a control character, which no file of a worker can hold.")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
