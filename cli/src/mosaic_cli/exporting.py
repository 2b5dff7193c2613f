"""Runs the exporter, which has an environment of its own, and shows how far it is."""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from mosaic_cli.errors import ExportFailed
from mosaic_cli.exit_code import code_of_problem
from mosaic_cli.output import err
from mosaic_cli.replaying import phase_words
from mosaic_cli.stack.layout import Layout
from mosaic_contracts.exports import (
    EXPORTER,
    EXPORTER_PATIENCE_S,
    DatasetExport,
    EventFileExport,
    ExporterLine,
    ExportOrder,
    ExportPhase,
    ExportProgress,
    StackAddress,
    VideoExport,
    exporter_argv,
)

if TYPE_CHECKING:
    from mosaic_client import Client

_INTERRUPTED = 130


def run_exporter(
    client: "Client",
    export: VideoExport | DatasetExport | EventFileExport,
    words: dict[ExportPhase, str],
) -> ExporterLine:
    """Run the exporter with a bar, and return its report; as `run_exporter_with`.

    Args:
        client: of the stack that has the run.
        export: what it is to make.
        words: what is shown next to the bar, for phases that are none of a replay.
    """
    with _bar() as update:
        return run_exporter_with(client, export, lambda progress: update(progress, words))


def run_exporter_with(
    client: "Client",
    export: VideoExport | DatasetExport | EventFileExport,
    on_progress: Callable[[ExportProgress], None],
) -> ExporterLine:
    """Run the exporter and return its report.

    Args:
        client: of the stack that has the run.
        export: what it is to make.
        on_progress: called with how far it is.

    Raises:
        EnvironmentMissing: its environment was not made.
        ExportFailed: it could not do it; the message is its own.
        KeyboardInterrupt: Ctrl-C. The exporter has ended and left nothing half-written.
    """
    python = Layout.of_environment().program(EXPORTER, "python")
    at = client.location
    address = StackAddress(
        url=at.url, token=at.token, ca_file=str(at.ca_file) if at.ca_file else None
    )
    order = ExportOrder(stack=address, export=export)
    # it ends when its standard input is closed, so also when this program is killed
    with subprocess.Popen(
        exporter_argv(python), stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as program:
        try:
            answer = _followed(program, order, on_progress)
            code = program.wait()
        except BaseException:
            _end(program)
            raise
    if code == _INTERRUPTED:
        raise KeyboardInterrupt
    if not answer.problem and (answer.video or answer.dataset or answer.events):
        return answer
    failure = ExportFailed(answer.problem or f"The exporter ended with exit code {code}.")
    if answer.code is not None:
        failure.code = code_of_problem(answer.code)
    raise failure


def _followed(
    program: "subprocess.Popen[str]",
    order: ExportOrder,
    on_progress: Callable[[ExportProgress], None],
) -> ExporterLine:
    """Give it its order, and show progress until the answer comes."""
    assert program.stdin is not None  # noqa: S101 - pipes were asked for
    assert program.stdout is not None  # noqa: S101
    try:
        program.stdin.write(order.model_dump_json() + "\n")
        program.stdin.flush()
    except BrokenPipeError:
        return ExporterLine()  # it has ended; its exit code is reported
    return _answer(program.stdout, on_progress)


def _answer(lines: IO[str], on_progress: Callable[[ExportProgress], None]) -> ExporterLine:
    for line in lines:
        said = ExporterLine.model_validate(json.loads(line))
        if said.progress is None:
            return said
        on_progress(said.progress)
    return ExporterLine()


@contextmanager
def _bar() -> Iterator[Callable[[ExportProgress, dict[ExportPhase, str]], None]]:
    from rich.progress import Progress as Bar

    with Bar(console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("Starting the exporter ...", total=None)

        def update(progress: ExportProgress, words: dict[ExportPhase, str]) -> None:
            title = words.get(progress.phase) or phase_words(progress)
            bar.update(task, description=title, completed=progress.done, total=progress.total)

        yield update


def _end(program: "subprocess.Popen[str]") -> None:
    program.terminate()
    try:
        program.wait(EXPORTER_PATIENCE_S)
    except subprocess.TimeoutExpired:
        program.kill()
