"""Options and arguments that several verbs share."""

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Strict JSON on stdout, messages on stderr.")]
JsonLines = Annotated[
    bool, typer.Option("--json", help="One JSON object a line on stdout, messages on stderr.")
]
_RUN_HELP = "A run's id, the beginning of one, its name, or `last`."
Run = Annotated[
    str,
    typer.Argument(metavar="RUN", help=_RUN_HELP, show_default=False),
]
OneRun = Annotated[
    str | None,
    typer.Argument(metavar="[RUN]", help=_RUN_HELP, show_default=False),
]
Runs = Annotated[
    list[str],
    typer.Argument(metavar="RUN...", help=_RUN_HELP, show_default=False),
]
RunsOrGroups = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN...",
        help="A run's or a group's id, the beginning of one, its name, or `last`.",
        show_default=False,
    ),
]
_EPISODE_HELP = "Number of the episode, or best, worst, median (by return) or last."
Episode = Annotated[
    str, typer.Option("--episode", "-e", metavar="N", help=_EPISODE_HELP, show_default=False)
]
OneEpisode = Annotated[
    str | None,
    typer.Option("--episode", "-e", metavar="N", help=f"One episode. {_EPISODE_HELP}"),
]
EpisodeEnv = Annotated[
    int | None,
    typer.Option(
        "--env",
        min=0,
        help="Sub-environment; default: 0 for a number, any for best, worst, median and last.",
    ),
]
Attempt = Annotated[
    int | None,
    typer.Option(min=1, help="Attempt of the run; default: the newest that has the episode."),
]
FromZoo = Annotated[
    Path | None,
    typer.Option(
        "--from-rl-zoo",
        metavar="FILE",
        help="Begin with the tuned parameters of a file of RL Baselines3 Zoo, e.g. hyperparams/ppo.yml.",
    ),
]
Detach = Annotated[bool, typer.Option("--detach", "-d", help="Print the id and return.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="Maximum number.")]
Types = Annotated[
    str | None,
    typer.Option("--types", "-t", help="Event types, comma separated, e.g. episode,metric."),
]


def event_types(text: str | None) -> list[str] | None:
    """The types that `--types` names; None where it was not given.

    Raises:
        ValueRefused: a type is none of MOSAIC's, and no worker can define it.
    """
    if not text:
        return None
    import re

    from mosaic_base.nearest import nearest_names
    from mosaic_cli.errors import ValueRefused
    from mosaic_contracts.choices import EVENT_TYPES, EXTRA_TYPE_PATTERN

    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in EVENT_TYPES and re.fullmatch(EXTRA_TYPE_PATTERN, name) is None:
            near = nearest_names(name, EVENT_TYPES)
            hint = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(EVENT_TYPES)}."
            raise ValueRefused(
                f"--types: there is no event type {name!r}. {hint} "
                "Types that a worker defines have a dot, for example bdi.plan."
            )
    return names
