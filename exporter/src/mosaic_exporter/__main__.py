"""`python -m mosaic_exporter`: started by `./mosaic export`, with the stack in MOSAIC_URL or MOSAIC_HOME."""

import argparse
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import NoReturn

from mosaic_client import ClientError, connect
from mosaic_exporter.errors import ExportProblem
from mosaic_exporter.talk import ProgressTalk, say

_FAILED = 1
_INTERRUPTED = 130


def main() -> None:
    """Make one export. A fault is one line with `problem` on stdout and exit code 1."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        _run(_parser().parse_args())
    except (ExportProblem, ClientError) as problem:
        _fail(str(problem))
    except OSError as error:
        _fail(f"{error.filename or 'The file'} cannot be written ({error.strerror or error}).")
    except KeyboardInterrupt:
        os._exit(_INTERRUPTED)  # a page of frames may still be on its way, and is not waited for


def _run(given: argparse.Namespace) -> None:
    with connect() as client:
        if given.what == "video":
            from mosaic_exporter.video import VideoOrder, write_video

            order = VideoOrder(
                given.replay, given.target, given.form, given.fps, given.speed, given.title
            )
            say(result=asdict(write_video(client, order, ProgressTalk())))
        else:
            from mosaic_exporter.dataset import write_dataset
            from mosaic_exporter.episodes import Selection

            selection = Selection(map(_range, given.episodes), given.env)
            report = write_dataset(client, given.run, given.name, selection, ProgressTalk())
            say(result=asdict(report))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mosaic_exporter", description=__doc__)
    exports = parser.add_subparsers(dest="what", required=True)
    video = exports.add_parser("video", help="a video of a replay that draws")
    video.add_argument("replay")
    video.add_argument("target", type=Path)
    video.add_argument("--form", choices=("mp4", "gif"), default="mp4")
    video.add_argument("--fps", type=float, default=30.0)
    video.add_argument("--speed", type=float, default=1.0)
    video.add_argument("--title", default="")
    dataset = exports.add_parser("minari", help="a Minari dataset of recorded episodes")
    dataset.add_argument("run")
    dataset.add_argument("name")
    dataset.add_argument("--episodes", nargs="*", default=[], metavar="FIRST-LAST")
    dataset.add_argument("--env", type=int)
    return parser


def _range(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    return int(first), int(last or first)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _fail(text: str) -> NoReturn:
    say(problem=text)
    sys.stdout.flush()
    os._exit(_FAILED)  # see above


if __name__ == "__main__":
    main()
