"""`beliefs`: what an agent believed, planned and intended at each step of an episode."""

import math
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from mosaic_cli import option
from mosaic_cli.errors import NothingFound
from mosaic_cli.output import emit, out, say
from mosaic_cli.reference import find_run
from mosaic_cli.target import open_stack
from mosaic_cli.wording import number, open_episode_text
from mosaic_client import light, reading
from mosaic_client.stack_connection import StackConnection

if TYPE_CHECKING:
    from mosaic_contracts.decisions import DecisionStep, MentalState

_FURTHER = 20
_MOST_CHANGES = 6
"""Beliefs in one row of the table; all of them are in --json."""


def beliefs(
    run: option.Run,
    episode: Annotated[
        int | None,
        typer.Option(
            "--episode",
            "-e",
            min=0,
            help="Number of the episode; default: the newest with recorded steps.",
        ),
    ] = None,
    env: Annotated[int, typer.Option(min=0, help="Sub-environment.")] = 0,
    json: option.Json = False,
) -> None:
    """Show, step by step, what an agent believed and intended, which plan it followed and how sure it was."""
    from mosaic_contracts.decisions import decision_steps

    with open_stack() as stack:
        view = find_run(stack, run)
        run_id = view.run_id
        row = _find_episode(stack, run_id, episode, env)
        config: dict[str, Any] = next(
            (e["data"] for e in reading.each_event(stack, run_id, ["config"])), {}
        )
        steps = reading.steps(stack, run_id, row.attempt, env, row.episode)
        looks, first = decision_steps(config, _extras(stack, run_id, row, steps), steps, env)
    if not looks:
        raise NothingFound(
            f"No steps of episode {row.episode} are stored. "
            f"`./mosaic episodes {run_id}` shows which episodes have some (RECORDED)."
        )
    if json:
        emit(
            {
                "run_id": run_id,
                "env": env,
                "episode": row.episode,
                "steps": [asdict(look) for look in looks],
            }
        )
        return
    _print(row, looks, config, first, has_ended=view.state.is_final)


def _find_episode(
    stack: StackConnection, run_id: str, wanted: int | None, env: int
) -> light.EpisodeFields:
    newest = None
    for row in reading.episodes(stack, run_id, "newest", sys.maxsize):
        if row.env != env or (wanted is not None and row.episode != wanted):
            continue
        if wanted is not None or row.recorded_steps:
            newest = row
            break
    if newest is None:
        what = "episode with recorded steps" if wanted is None else f"episode {wanted}"
        raise NothingFound(
            f"{run_id} has no {what} in environment {env}. `./mosaic episodes {run_id}` lists them."
        )
    return newest


def _extras(
    stack: StackConnection, run_id: str, row: light.EpisodeFields, steps: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """What agents said up to the episode's end, and a little further: `policy.choices` comes behind the last step."""
    from mosaic_contracts.decisions import TYPES

    last = max((step["seq"] for step in steps), default=0)
    further = _FURTHER
    for event in reading.each_event(stack, run_id, TYPES):
        if event["attempt"] != row.attempt or event["source"] != "worker":
            continue
        yield event
        further -= event["seq"] > last
        if not further:
            return


def _print(
    row: light.EpisodeFields,
    looks: "list[DecisionStep]",
    config: dict[str, Any],
    first: "MentalState",
    *,
    has_ended: bool,
) -> None:
    agent = next((look.agent for look in looks if look.agent), None)
    who = f", agent {agent}" if agent else ""
    result = open_episode_text(has_ended=has_ended)
    if row.length is not None:
        result = f"return {number(row.episode_return)}"
    title = (f"Episode {row.episode}", "bold")
    out.print(Text.assemble(title, f": {len(looks)} steps, {result}{who}"))
    table = Table(box=None, pad_edge=False)
    table.add_column("STEP", justify="right")
    for heading in ("AT", "ACTION", "SURE", "PLAN", "INTENDS", "BELIEFS THAT CHANGED"):
        table.add_column(heading, overflow="fold")
    table.add_column("REWARD", justify="right")
    for look in looks:
        table.add_row(
            str(look.step),
            _place(look),
            look.action_name + (" (explored)" if look.explored else ""),
            "-" if look.confidence is None else f"{look.confidence:.0%}",
            look.plan or "-",
            "; ".join(look.intentions) or "-",
            _changes(look),
            number(look.reward),
        )
    out.print(table)
    if first.agent is None and not any(look.beliefs for look in looks):
        say(
            "This run records no beliefs: its algorithm has no agent that plans. Its actions are listed above."
        )
    _print_policy(config, first)


def _place(look: "DecisionStep") -> str:
    if look.cell is None:
        return "-" if look.state is None else str(look.state)
    return f"{look.cell[0]},{look.cell[1]} {look.kind}"


def _changes(look: "DecisionStep") -> str:
    changes = [f"+{belief}" for belief in look.added] + [f"-{belief}" for belief in look.removed]
    more = len(changes) - _MOST_CHANGES
    shown = " ".join(changes[:_MOST_CHANGES])
    return f"{shown} and {more} more" if more > 0 else shown or "-"


def _print_policy(config: dict[str, Any], first: "MentalState") -> None:
    """The policy as it was last recorded before the episode."""
    if not config.get("grid") or first.values is None:
        return
    from mosaic_contracts.decisions import grid_of, policy_rows

    grid = grid_of(config)
    if grid is None or grid.states_per_cell > 1:
        return  # a cell has many states, and an action for each
    if len(first.values) < math.prod(grid.shape) or len(first.values[0]) > len(grid.actions):
        return  # values of another world
    out.print("Best action by place, as last recorded before:")
    for row in policy_rows(grid, first.values):
        out.print(f"  {row}")
