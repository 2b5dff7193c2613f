"""`python -m mosaic_exporter`: reads an `ExportOrder` on stdin and reports on stdout (`mosaic_contracts.exports`)."""

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

from mosaic_base.imports import large_imports

with large_imports():
    from pydantic import ValidationError

    from mosaic_base.input_end import interrupt_at_end_of_input
    from mosaic_client import Client, ClientError, MosaicProblem, connect
    from mosaic_contracts.exports import (
        DatasetExport,
        EventFileExport,
        ExporterLine,
        ExportOrder,
        StepsExport,
        StepsReport,
        VideoExport,
    )
    from mosaic_exporter.errors import ExportProblem
    from mosaic_exporter.talk import ProgressTalk, say

_FAILED, _USAGE, _INTERRUPTED = 1, 2, 130


def main() -> None:
    """Make one export. A fault is one line with `problem` on stdout and exit code 1."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        order = _read_order()
        stack = order.stack
        with connect(stack.url, token=stack.token, ca_file=stack.ca_file) as client:
            say(_made(client, order.export, ProgressTalk()))
    except MosaicProblem as error:
        _fail(str(error), error.problem.code)
    except (ExportProblem, ClientError) as problem:
        _fail(str(problem))
    except OSError as error:
        _fail(f"{error.filename or 'The file'} cannot be written ({error.strerror or error}).")
    except KeyboardInterrupt:
        os._exit(_INTERRUPTED)  # a page of frames may still be on its way, and is not waited for


def _read_order() -> ExportOrder:
    line = sys.stdin.buffer.readline()
    try:
        order = ExportOrder.model_validate_json(line)
    except ValidationError as error:
        sys.stderr.write(f"An ExportOrder is expected on standard input: {error}\n")
        sys.exit(_USAGE)
    interrupt_at_end_of_input()
    return order


def _made(
    client: Client,
    export: VideoExport | StepsExport | DatasetExport | EventFileExport,
    progress: ProgressTalk,
) -> ExporterLine:
    # what each of them needs is slow to import
    if isinstance(export, VideoExport):
        from mosaic_exporter.replayed import make_video

        return ExporterLine(video=make_video(client, export, progress))
    if isinstance(export, StepsExport):
        from pathlib import Path

        from mosaic_client.export.steps import write_steps

        episode = export.episode
        steps = write_steps(
            client,
            episode.run_id,
            episode.attempt,
            episode.env,
            episode.episode,
            Path(export.target),
        )
        return ExporterLine(steps=StepsReport(file=export.target, steps=steps))
    if isinstance(export, EventFileExport):
        from mosaic_exporter.event_file import make_event_file

        return ExporterLine(events=make_event_file(client, export, progress))
    from mosaic_exporter.dataset import make_dataset

    return ExporterLine(dataset=make_dataset(client, export, progress))


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    # a second signal must not interrupt the clearing up
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _fail(text: str, code: str | None = None) -> NoReturn:
    say(ExporterLine(problem=text, code=code))
    os._exit(_FAILED)  # see above


if __name__ == "__main__":
    main()
