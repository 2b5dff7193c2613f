"""`logs`: what a run's worker printed."""

import time
from collections.abc import Iterator
from typing import Annotated

import typer

from mosaic_cli import option
from mosaic_cli.output import emit_line, out, say
from mosaic_cli.reference import find_run
from mosaic_cli.target import open_stack
from mosaic_cli.terminal_text import LineCollector
from mosaic_client import reading
from mosaic_client.stack_connection import StackConnection

PART_BYTES = 256 * 1024
LOOK_EVERY_S = 0.5


def logs(
    run: option.Run,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the run ends.")
    ] = False,
    tail: Annotated[
        int | None, typer.Option("--tail", "-n", min=1, help="Only the last lines.")
    ] = None,
    json: option.JsonLines = False,
) -> None:
    """Print the output of a run's worker. Progress bars are collapsed to their last state."""
    with open_stack() as stack:
        view = find_run(stack, run)
        shown = 0
        for line in log_lines(stack, view.run_id, follow, tail):
            emit_line({"line": line}) if json else out.print(line, soft_wrap=True)
            shown += 1
    if not shown and not json:
        say(f"{view.run_id} has printed nothing" + ("." if view.state.is_final else " yet."))


def log_lines(stack: StackConnection, run_id: str, follow: bool, tail: int | None) -> Iterator[str]:
    """Lines of a log, in bounded memory; with `follow` until the run has ended."""
    collector = LineCollector()
    offset = 0
    if tail is not None:
        text, offset = reading.log_tail(stack, run_id, tail)
        yield from collector.feed(text)
    if tail is None or follow:
        yield from _from_offset(stack, run_id, offset, follow, collector)
    yield from collector.finish()


def _from_offset(
    stack: StackConnection, run_id: str, offset: int, follow: bool, collector: LineCollector
) -> Iterator[str]:
    while True:
        # asked first: what was written before the end is then certain to be read below
        has_ended = not follow or reading.run(stack, run_id).state.is_final
        while True:
            text, next_offset = reading.log(stack, run_id, offset, PART_BYTES)
            yield from collector.feed(text)
            if next_offset <= offset:
                break
            offset = next_offset
        if has_ended:
            return
        time.sleep(LOOK_EVERY_S)  # a log is a file; the gateway announces no new lines
