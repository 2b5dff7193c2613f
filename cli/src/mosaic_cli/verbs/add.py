"""`add`: a training script of the user's own, or a checkout of CleanRL, becomes a worker."""

import re
import shutil
from pathlib import Path
from typing import Annotated

import typer

from mosaic_base.atomic import replace_file
from mosaic_cli import option
from mosaic_cli.cleanrl_checkout import (
    CHECKOUT_FILE,
    checkout_id,
    checkout_worker,
    quoted,
    refuse_checkout,
)
from mosaic_cli.errors import FileProblem, ValueRefused
from mosaic_cli.output import emit, out, say
from mosaic_cli.own_script import script_interpreter, with_values
from mosaic_cli.stack.layout import Layout
from mosaic_contracts.choices import WORKER_ID_PATTERN

_ID = re.compile(WORKER_ID_PATTERN)
_SCRIPT_FILE = "script.toml"


def add(
    script: Annotated[
        Path,
        typer.Argument(
            metavar="SCRIPT", help="A Python script, or the folder of a checkout of CleanRL."
        ),
    ],
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- ARGUMENT...]", help="Arguments of every run."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="Id of the worker; default: the name of the script or folder.",
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
    resume_arg: Annotated[
        str | None,
        typer.Option(
            "--resume-arg",
            metavar="NAME",
            help="The script's argument for a file that it begins with, e.g. `resume`: it then takes checkpoints of "
            "runs (`-p resume=RUN/last`).",
        ),
    ] = None,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace", help="Replace a script or checkout that was added with this name."
        ),
    ] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Take a worker off the list. Its runs and files stay.")
    ] = False,
    json: option.Json = False,
) -> None:
    """Add a training script of your own, or a checkout of CleanRL, to the workers, or take it off with --remove.

    Its arguments, as argparse, tyro, click, typer, absl or fire declare them, become parameters: of `run`, of the form
    in the window, of groups and of sweeps. They are read from the script, which is not run for that.

    Each script of a checkout becomes an algorithm, which runs in the environment of the worker `cleanrl`.
    """
    is_checkout = script.expanduser().is_dir()
    worker = name or (checkout_id(script) if is_checkout else _id_of(script))
    if _ID.fullmatch(worker) is None:
        raise ValueRefused(
            f"`{worker}` is no id of a worker. Give --name: small letters, digits and _, a letter first."
        )
    folder = Layout.of_environment().home / "workers.d" / worker
    if remove:
        _remove(folder, worker)
        return
    file = script.expanduser().absolute()
    if not is_checkout and not file.is_file():
        raise FileProblem(f"There is no script {script}.")
    if is_checkout:
        refuse_checkout(file, worker, is_for_script=bool(words or python or env_var or resume_arg))
    _require_free(folder, worker, replace=replace)
    if is_checkout:
        facts, own = f"folder = {quoted(str(file))}\n", checkout_worker(worker, file)
    else:
        interpreter, given = script_interpreter(python), with_values(env_var or [])
        facts = _script_toml(worker, file, interpreter, words or [], given)
        if resume_arg:
            facts += f"resume_argument = {quoted(resume_arg.lstrip('-').replace('-', '_'))}\n"
        own = _worker_toml(worker, file)
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(folder / (CHECKOUT_FILE if is_checkout else _SCRIPT_FILE), facts)
    replace_file(folder / "worker.toml", own)
    if json:
        emit({"worker": worker, "folder": str(folder)})
        return
    out.print(worker)
    say(
        f"  ./mosaic describe {worker}          its {'algorithms' if is_checkout else 'arguments'}\n"
        f"  ./mosaic run {worker} {'ppo CartPole-v1' if is_checkout else '-p NAME=VALUE'}"
    )


def _require_free(folder: Path, worker: str, *, replace: bool) -> None:
    if folder.is_symlink():
        raise ValueRefused(
            f"There is a worker `{worker}` already, in {folder.readlink()}. Give another --name, or take that off "
            f"the list with --name {worker} --remove."
        )
    if folder.exists() and not (_was_added(folder) and replace):
        raise ValueRefused(
            f"There is a worker `{worker}` already. Give --replace or another --name."
        )


def _remove(folder: Path, worker: str) -> None:
    if folder.is_symlink():  # `new-worker`, or a user by hand
        place = folder.readlink()
        folder.unlink()
        say(f"{worker} is off the list of workers; its folder {place} and its runs stay.")
        return
    if not _was_added(folder):
        raise ValueRefused(f"Nothing was added as `{worker}`.")
    shutil.rmtree(folder)
    say(f"{worker} is off the list of workers; its runs stay.")


def _was_added(folder: Path) -> bool:
    """Whether this verb made the folder, and not a user by hand. It is empty when the verb was killed."""
    if (folder / _SCRIPT_FILE).is_file() or (folder / CHECKOUT_FILE).is_file():
        return True
    return folder.is_dir() and all(file.name.startswith(".") for file in folder.iterdir())


def _id_of(script: Path) -> str:
    return re.sub(r"[^a-z0-9_]+", "_", script.stem.lower()).strip("_")


def _script_toml(
    worker: str, script: Path, python: Path, words: list[str], variables: list[str]
) -> str:
    listed, given = (", ".join(quoted(word) for word in some) for some in (words, variables))
    return (
        f"id = {quoted(worker)}\ntitle = {quoted(script.name)}\nscript = {quoted(str(script))}\n"
        f"python = {quoted(str(python))}\ndirectory = {quoted(str(script.parent))}\n"
        f"words = [{listed}]\nvariables = [{given}]\n"
    )


def _worker_toml(worker: str, script: Path) -> str:
    return (
        f"id = {quoted(worker)}\ntitle = {quoted(script.name)}\n"
        'room = "worker_script"\n'
        'command = ["{python}", "-m", "mosaic_worker_script", "{here}/script.toml", '
        f"{quoted(str(script))}]\n"
        'device = "optional"\nhint = "Its environment is made by `./mosaic sync worker_script`."\n'
    )
