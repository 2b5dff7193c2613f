"""Options that are written down once and belong to several verbs."""

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from mosaic_cli.option_group import spread

called: list[object] = []


@dataclass(frozen=True)
class Size:
    """Two options."""

    width: Annotated[int, typer.Option("--width", "-w", help="How wide.")]
    deep: Annotated[bool, typer.Option("--deep")] = False


@dataclass(frozen=True)
class First:
    """What is done before the verb."""

    word: Annotated[str | None, typer.Option("--word")] = None

    def __call__(self) -> None:
        called.append(self)


def verb(thing: str, size: Size, more: int = 1) -> None:
    """A verb with its own and the shared options."""
    called.append((thing, size, more))


@pytest.mark.parametrize(
    "order", [("x", "-w", "3", "--word", "a"), ("--word", "a", "-w", "3", "x")]
)
def test_a_dataclass_becomes_options_and_comes_back_whole(order: tuple[str, ...]) -> None:
    """The verb gets the dataclass, defaults included, after what is to be done first."""
    called.clear()
    app = typer.Typer()
    app.command()(spread(verb, First))
    done = CliRunner().invoke(app, [*order, "--more", "2"])
    assert done.exit_code == 0, done.output
    assert called == [First("a"), ("x", Size(3, False), 2)]
    assert "How wide." in CliRunner().invoke(app, ["--help"]).output
    assert CliRunner().invoke(app, ["x"]).exit_code == 2, "an option without a default is demanded"
