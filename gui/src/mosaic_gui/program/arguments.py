"""The command line of the client."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from mosaic_gui.errors import ArgumentInvalid
from mosaic_gui.state.episode_list import EpisodeAddress
from mosaic_gui.theme.tokens import THEMES


@dataclass(frozen=True)
class Arguments:
    """Parsed command line."""

    url: str | None = None
    token_file: Path | None = None
    ca_file: Path | None = None
    screenshot: Path | None = None
    """Render every view, or only `run`, into this folder and end."""
    size: tuple[int, int] | None = None
    """Size of the window; None: as it was last."""
    theme: str | None = None
    """`dark` or `light`; None: the theme of the desktop."""
    run: str | None = None
    """Run to open first."""
    watch: bool = False
    """Show the environment of this run large."""
    env: int = 0
    """Number of the sub-environment to show."""
    replay: EpisodeAddress | None = None
    """Episode to replay first."""
    play: bool = False
    """Show the page on which a play is started."""
    entry: bool | None = None
    """Add MOSAIC to the applications menu (True), or remove it (False), and end."""


def parse_arguments(argv: list[str]) -> Arguments:
    """Parse the command line; `--help` and unknown options end the program.

    Raises:
        ArgumentInvalid: a value that cannot be.
    """
    parser = argparse.ArgumentParser(
        prog="./mosaic gui", description="The desktop client: launch, watch and compare runs."
    )
    parser.add_argument(
        "--url", help="a stack elsewhere, e.g. http://127.0.0.1:8420 through a tunnel"
    )
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="file with its token")
    parser.add_argument(
        "--ca-file", type=Path, metavar="FILE", help="certificate that is believed, for https"
    )
    parser.add_argument(
        "--screenshot",
        type=Path,
        metavar="DIR",
        help="render every view into DIR, one PNG each, and end; with --run: only this run",
    )
    parser.add_argument(
        "--size", metavar="WxH", help="of the window (default: as it was last; at first 1280x800)"
    )
    parser.add_argument("--theme", choices=sorted(THEMES), help="default: as the desktop has it")
    parser.add_argument("--run", metavar="RUN", help="open this run (its id)")
    parser.add_argument(
        "--watch", action="store_true", help="with --run: show its environment large, live"
    )
    parser.add_argument(
        "--env", type=int, default=0, metavar="N", help="with --watch: another sub-environment"
    )
    parser.add_argument(
        "--replay",
        metavar="RUN:ATTEMPT:ENV:EPISODE",
        help="replay this recorded episode, e.g. 01JZ8...:1:0:41",
    )
    parser.add_argument(
        "--play", action="store_true", help="choose an environment, and play it yourself"
    )
    menu = parser.add_mutually_exclusive_group()
    menu.add_argument(
        "--install-desktop",
        dest="entry",
        action="store_true",
        default=None,
        help="add MOSAIC with its icon to the applications menu, and end",
    )
    menu.add_argument(
        "--remove-desktop",
        dest="entry",
        action="store_false",
        help="remove it from the applications menu, and end",
    )
    given = parser.parse_args(argv)
    if given.watch and given.run is None:
        raise ArgumentInvalid("--watch needs --run RUN: the run to watch.")
    if given.env < 0 or (given.env and not given.watch):
        raise ArgumentInvalid("--env N goes with --watch; N is 0 or above.")
    return Arguments(
        url=given.url,
        token_file=given.token_file,
        ca_file=given.ca_file,
        screenshot=given.screenshot,
        size=_size(given.size) if given.size is not None else None,
        theme=given.theme,
        run=given.run,
        watch=given.watch,
        env=given.env,
        replay=_episode(given.replay) if given.replay is not None else None,
        play=given.play,
        entry=given.entry,
    )


def _episode(text: str) -> EpisodeAddress:
    try:
        return EpisodeAddress.parse(text)
    except ValueError:
        raise ArgumentInvalid(
            f"--replay is RUN:ATTEMPT:ENV:EPISODE, e.g. 01JZ8...:1:0:41, not {text!r}."
        ) from None


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.lower().partition("x")
    if not (width.isdigit() and height.isdigit()):
        raise ArgumentInvalid(f"--size is WIDTHxHEIGHT, e.g. 1280x800, not {text!r}.")
    return int(width), int(height)
