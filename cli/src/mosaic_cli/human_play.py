"""A play by a person: started for an environment, and opened in the window."""

import re
from typing import TYPE_CHECKING

import typer

from mosaic_cli.output import out, say
from mosaic_cli.window import COULD_NOT_OPEN, NO_DISPLAY, can_open, open_window

if TYPE_CHECKING:
    from mosaic_contracts.spec import RunSpec

WORKER, ALGORITHM = "play", "human"
_ENVIRONMENT = re.compile(r"([\w.]+:)?([\w-]+/)?[\w.-]+-v\d+")
CHOICES = """\
What to play:
  ./mosaic play CartPole-v1      you, in an environment; `./mosaic describe play` lists them
  ./mosaic play last             what a run has learned, with its newest checkpoint"""


def is_environment(text: str) -> bool:
    """Whether a word names an environment, e.g. CartPole-v1, ALE/Pong-v5 or my_module:Mine-v0."""
    return _ENVIRONMENT.fullmatch(text) is not None


def offer_choices() -> None:
    """Open the window; without a display say what can be played."""
    if can_open():
        code = open_window("--play")
        if code != COULD_NOT_OPEN:
            raise typer.Exit(code)
    out.print(CHOICES, markup=False, highlight=False, soft_wrap=True)


def human_spec(environment: str, fields: dict[str, object]) -> "RunSpec":
    """The spec of a play by a person.

    Args:
        environment: id of the environment.
        fields: further fields of the spec.
    """
    from mosaic_contracts.spec import RunSpec  # imports pydantic

    return RunSpec.model_validate(
        {
            "worker": WORKER,
            "algorithm": ALGORITHM,
            "environment": environment,
            "kind": "play",
            **fields,
        }
    )


def show_play(run_id: str) -> None:
    """Open the window at a play; without a display say how to reach it.

    Raises:
        typer.Exit: the window has its own exit code.
    """
    if can_open():
        code = open_window("--run", run_id, "--watch")
        if code != COULD_NOT_OPEN:
            raise typer.Exit(code)
    else:
        say(NO_DISPLAY)
    say(
        f"The play {run_id} waits for a person for two minutes:\n"
        f"  ./mosaic watch {run_id}   opens the window at it, where there is a display\n"
        f"  client.act({run_id!r})   plays it from a script\n"
        f"  ./mosaic stop {run_id}    ends it"
    )
