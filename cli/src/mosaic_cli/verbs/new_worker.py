"""`new-worker`: a folder with a worker that trains, its tests and its environment, to be changed into one's own."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from mosaic_cli import option
from mosaic_cli.command_name import with_command_name
from mosaic_cli.errors import FileProblem, ValueRefused
from mosaic_cli.output import emit, out, say
from mosaic_cli.stack.layout import Layout
from mosaic_contracts.choices import WORKER_ID_PATTERN

TEMPLATES = {
    "blank": ("worker_gymnasium", "table"),
    "script": ("own_script", "own_script"),
    "sb3": ("worker_sb3", "sb3"),
    "pettingzoo": ("worker_pettingzoo", "pettingzoo"),
    "rllib": ("worker_rllib", "rllib"),
}
"""Folder below `examples`, and the id of the worker in it."""
_ID = re.compile(WORKER_ID_PATTERN)
_LEFT_OUT = shutil.ignore_patterns(".venv", "__pycache__", ".*cache")
_SAID = ("worker.toml", "worker.py", "script.toml", "pyproject.toml", "README.md")
"""Files that name the worker."""


def new_worker(
    name: Annotated[str, typer.Argument(help="Id of the worker, and name of its folder.")],
    sb3: Annotated[
        bool, typer.Option("--sb3", help="Stable-Baselines3: PPO, A2C, DQN, SAC, TD3.")
    ] = False,
    pettingzoo: Annotated[
        bool, typer.Option("--pettingzoo", help="Several agents, in environments of PettingZoo.")
    ] = False,
    rllib: Annotated[bool, typer.Option("--rllib", help="PPO of RLlib, on one node.")] = False,
    script: Annotated[
        bool, typer.Option("--script", help="A plain training script, which runs unchanged.")
    ] = False,
    blank: Annotated[
        bool, typer.Option("--blank", help="An algorithm of your own (the default).")
    ] = False,
    folder: Annotated[
        Path | None,
        typer.Option("--folder", metavar="PATH", help="Where it is made; default: ./NAME."),
    ] = None,
    no_sync: Annotated[
        bool, typer.Option("--no-sync", help="Do not make its environment yet.")
    ] = False,
    json: option.Json = False,
) -> None:
    """Make a worker of your own: a folder with code that trains, its tests, its environment and a README.

    It is on the list of workers at once. Its README says what to change first.
    """
    asked = {
        "sb3": sb3,
        "pettingzoo": pettingzoo,
        "rllib": rllib,
        "script": script,
        "blank": blank,
    }
    chosen = [word for word, is_it in asked.items() if is_it]
    if len(chosen) > 1:
        raise ValueRefused(f"Give one of --{' and --'.join(chosen)}.")
    if _ID.fullmatch(name) is None:
        raise ValueRefused(
            f"`{name}` is no id of a worker: small letters, digits and _, a letter first."
        )
    layout, place = Layout.of_environment(), (folder or Path(name)).expanduser().resolve()
    link = layout.home / "workers.d" / name
    _require_free(layout, name, place, link)
    if _is_worker(place, name):
        say(f"{place} is a worker `{name}` already. It is put on the list as it is.")
    else:
        _write(layout, chosen[0] if chosen else "blank", name, place)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(place)
    if not no_sync:
        _make_environment(place)
    if json:
        emit({"worker": name, "folder": str(place)})
        return
    out.print(str(place))
    path = shlex.quote(str(place))
    say(
        f"  ./mosaic run {name}                      trains\n"
        f"  ./mosaic worker-check {path}    checks it rule by rule\n"
        f"  cd {path} && .venv/bin/python -m pytest    runs its tests\n"
        "README.md there says what to change first."
    )


def _require_free(layout: Layout, name: str, place: Path, link: Path) -> None:
    from mosaic_environments.tree import Tree

    tree = Tree(str(layout.root), str(layout.venvs), is_checkout=True)
    if (layout.root / "services").is_dir() and tree.worker_component(name) is not None:
        raise ValueRefused(f"MOSAIC has a worker `{name}` already. Choose another name.")
    if link.is_symlink() or link.exists():
        raise ValueRefused(
            f"There is a worker `{name}` already: {link}. Remove that, or choose another name."
        )
    if link.parent.resolve() in (place, *place.parents):
        raise ValueRefused(
            f"{link.parent} holds links to workers. Name a folder of your own with --folder."
        )
    if place.is_dir() and (_is_worker(place, name) or not any(place.iterdir())):
        return
    if place.exists():
        raise ValueRefused(f"{place} is there already. Name an empty folder with --folder.")


def _is_worker(place: Path, name: str) -> bool:
    """Whether the folder is a worker with this id, such as one whose `new-worker` ended before it was listed."""
    import tomllib

    try:
        return tomllib.loads((place / "worker.toml").read_text("utf-8")).get("id") == name
    except (OSError, ValueError):
        return False


def _write(layout: Layout, template: str, name: str, place: Path) -> None:
    """Copy the template; the folder appears whole or not at all."""
    source, known = TEMPLATES[template]
    folder = layout.root / "examples" / source
    if not folder.is_dir():
        raise FileProblem(
            f"The template is missing ({folder}). Install MOSAIC from a wheel, or use a checkout."
        )
    draft = place.with_name(f".{place.name}.new")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(folder, draft, ignore=_LEFT_OUT)
        for file in (draft / said for said in _SAID):
            if file.is_file():
                text = _renamed(file.read_text("utf-8"), known, name)
                text = text.replace(f"examples/{source}", shlex.quote(str(place)))
                file.write_text(with_command_name(text), "utf-8")
        if place.exists():
            place.rmdir()
        draft.rename(place)
    except OSError as error:
        raise FileProblem(
            f"{place} cannot be made ({error.strerror or error}). Name another --folder."
        ) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _renamed(text: str, known: str, name: str) -> str:
    text = re.sub(rf'"{known}"', f'"{name}"', text)
    text = re.sub(rf"(\bmosaic \S+ ){known}\b", rf"\g<1>{name}", text)
    return re.sub(rf"^# {known}$", f"# {name}", text, flags=re.MULTILINE)


def _make_environment(place: Path) -> None:
    program = os.environ.get("MOSAIC_PROGRAM")
    if program is None:
        return
    done = subprocess.run([program, "sync", str(place)], stdout=sys.stderr, check=False)
    if done.returncode:
        path = shlex.quote(str(place))
        say(
            f"{place} is made, its environment is not. After fixing the cause, run: ./mosaic sync {path}"
        )
        raise typer.Exit(done.returncode)
