"""A checkout of CleanRL as a worker: its folder in `workers.d`."""

import re
from pathlib import Path

from mosaic_cli.errors import FileProblem, ValueRefused

CHECKOUT_FILE = "checkout.toml"
"""Next to `worker.toml`: where the checkout is, and that `./mosaic add` made the folder."""
_OWN = "cleanrl"
"""Id of the worker for the installed package."""


def checkout_id(folder: Path) -> str:
    """Return the id of the worker for a checkout: its folder's name, and another one than that of the package."""
    words = re.sub(r"[^a-z0-9_]+", "_", folder.expanduser().absolute().name.lower()).strip("_")
    return f"{words}_checkout" if words == _OWN else words


def refuse_checkout(folder: Path, worker: str, *, is_for_script: bool) -> None:
    """Refuse a folder that is no checkout of CleanRL, and options that a checkout does not take.

    Args:
        folder: the checkout.
        worker: id that it would have.
        is_for_script: whether something was given that is for a script: arguments, an interpreter, variables or
            an argument for a checkpoint.

    Raises:
        FileProblem: it is no checkout.
        ValueRefused: an option is for scripts, or the id is that of the package.
    """
    if not any((folder / _OWN).glob("*.py")):
        raise FileProblem(
            f"{folder} is no checkout of CleanRL: it has no folder `cleanrl` with scripts. Give the folder that "
            "`git clone` made, or a single script."
        )
    if is_for_script:
        raise ValueRefused(
            "Arguments, --python, --env-var and --resume-arg are for a script. Scripts of a checkout run in the "
            "environment of the worker `cleanrl`, with the parameters of each run."
        )
    if worker == _OWN:
        raise ValueRefused(
            "`cleanrl` is the worker for the installed package. Give the checkout another --name."
        )


def checkout_worker(worker: str, folder: Path) -> str:
    """Return the text of its `worker.toml`."""
    return (
        f"id = {quoted(worker)}\ntitle = {quoted(f'CleanRL in {folder.name}')}\n"
        'room = "worker_cleanrl"\n'
        'command = ["{python}", "-m", "mosaic_worker_cleanrl", "--checkout", '
        f'{quoted(str(folder))}, "--id", {quoted(worker)}]\n'
        'lane = "telemetry"\ndevice = "optional"\n'
        'bundles = ["atari", "box2d", "jax", "mujoco", "video", "wandb"]\n'
        'hint = "Its environment is made by `./mosaic sync worker_cleanrl`."\n'
    )


def quoted(text: str) -> str:
    """A text as a basic string of TOML."""
    if any(ord(letter) < 32 for letter in text):
        raise ValueRefused(f"{text!r} has a control character, which no file of a worker can hold.")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
