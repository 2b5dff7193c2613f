"""`python -m mosaic_exporter`: reads an `ExportOrder` on stdin and reports on stdout (`mosaic_contracts.exports`)."""

from typing import NoReturn

from mosaic_base.imports import large_imports

with large_imports():
    from mosaic_base.one_order import FAILED, INTERRUPTED, interrupt_at_signals, leave, read_order
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


def main() -> None:
    """Make one export. A fault is one line with `problem` on stdout and exit code 1."""
    interrupt_at_signals()
    try:
        order = read_order(ExportOrder.model_validate_json, "An ExportOrder")
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
        leave(INTERRUPTED)  # a page of frames may still be on its way


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


def _fail(text: str, code: str | None = None) -> NoReturn:
    say(ExporterLine(problem=text, code=code))
    leave(FAILED)


if __name__ == "__main__":
    main()
