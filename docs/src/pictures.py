"""Make the pictures of README and docs, from real runs of a stack of their own: `./mosaic pictures [NAME...]`."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from code_paths import ROOT
from terminal_picture import TerminalMissing, draw_command

IMAGES = ROOT / "docs" / "img"
DRAWN_BY_HAND = {"concepts.svg"}
"""Figures that are their own source."""
BY_BENCHMARKS = ("learning_curves.svg",)
"""Pictures of measurements: benchmarks/learning_curves.py makes it, in hours."""
VIEWS = {
    "gui.png": "compare",
    "replay.png": "replay",
    "storage.png": "storage",
}
"""Pictures of the window, and the view of `./mosaic gui --screenshot` that each one shows."""
PLAY, DEMO = "play.png", "demo.svg"
PICTURES = (*VIEWS, PLAY, DEMO)
SIZE = "1280x800"
PLAYED = "LunarLander-v3"
TRAININGS = (
    ("ppo", "--steps", "20000", "--name", "PPO"),
    ("dqn", "--steps", "20000", "--name", "DQN", "-p", "learning_starts=1000"),
)
"""Algorithm and options of the groups that the window shows, each with three seeds."""
TERMINAL_WIDTH = 104
DEMO_LIMIT_S = 1800.0


def main(arguments: list[str] | None = None) -> int:
    """Make the named pictures, or all, and write them to docs/img; return 0 when all were made."""
    parser = argparse.ArgumentParser(
        prog="./mosaic pictures",
        description="Make the pictures of README and docs, from real runs of a stack of their own.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PICTURES)}")
    parser.add_argument(
        "--to", type=Path, default=IMAGES, metavar="FOLDER", help="default: docs/img"
    )
    asked = parser.parse_args(arguments)
    names = set(asked.names or PICTURES)
    if unknown := sorted(names - set(PICTURES)):
        parser.error(f"no picture {', '.join(unknown)}; there are {', '.join(PICTURES)}")
    asked.to.mkdir(parents=True, exist_ok=True)
    try:
        if names & {*VIEWS, PLAY}:
            picture_window(names, asked.to)
        if DEMO in names:
            picture_demo(asked.to / DEMO)
    except subprocess.CalledProcessError as error:
        print(f"mosaic: `{' '.join(map(str, error.cmd))}` failed: see above.", file=sys.stderr)
        return 1
    except TerminalMissing as error:
        print(f"mosaic: {error}", file=sys.stderr)
        return 1
    for name in PICTURES:
        if name in names:
            print(asked.to / name)
    return 0


def picture_window(names: set[str], to: Path) -> None:
    """Train, play and take pictures of the window in the dark theme."""
    with _stack() as (mosaic, home):
        if views := {name: view for name, view in VIEWS.items() if name in names}:
            for algorithm, *options in TRAININGS:
                seeds = ("--seed", "1-3", "--record", "replay")
                mosaic("run", "cleanrl", algorithm, "CartPole-v1", *seeds, *options)
            # a run whose files go next, for the page of the storage
            mosaic("profile", TRAININGS[0][4], "lean")
            mosaic("gui", "--screenshot", str(home / "views"), "--size", SIZE, "--theme", "dark")
            for name, view in views.items():
                shutil.copyfile(home / "views" / f"{view}.png", to / name)
        if PLAY in names:
            mosaic("sync", "worker_play", "--bundle", "box2d")
            run_id = mosaic("play", PLAYED, "--seed", "11", "-d").strip()
            shown = ("--run", run_id, "--size", SIZE, "--theme", "dark")
            mosaic("gui", "--screenshot", str(home / "play"), *shown)
            shutil.copyfile(home / "play" / "run.png", to / PLAY)


@contextmanager
def _stack() -> Iterator[tuple[Callable[..., str], Path]]:
    """A stack with a data root of its own, taken down at the end; gives its command line and the folder."""
    with tempfile.TemporaryDirectory(prefix="mosaic-pictures-") as folder:
        # a stack that the user named is not the one of the pictures
        environment = {k: v for k, v in os.environ.items() if k != "MOSAIC_URL"}
        environment["MOSAIC_HOME"] = str(Path(folder) / "var")

        def mosaic(*words: str) -> str:
            done = subprocess.run(
                [ROOT / "mosaic", *words],
                env=environment,
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            return done.stdout

        mosaic("up", "-d")
        try:
            yield mosaic, Path(folder)
        finally:
            mosaic("down", "--stop-runs")


def picture_demo(target: Path) -> None:
    """The screen of a first `./mosaic demo`, which makes the environments too."""
    with tempfile.TemporaryDirectory(prefix="mosaic-pictures-") as folder:
        data = Path(folder) / "var"
        roots = {"MOSAIC_HOME": str(data), "MOSAIC_VENVS": str(data / "venvs")}
        svg = draw_command(
            [str(ROOT / "mosaic"), "demo"],
            title="./mosaic demo",
            width=TERMINAL_WIDTH,
            folder=Path(folder),
            environment=roots,
            limit_s=DEMO_LIMIT_S,
        )
    target.write_text(svg)


if __name__ == "__main__":
    sys.exit(main())
