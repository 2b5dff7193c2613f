"""Runs the exporter, which has an environment of its own, and shows how far it is."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from mosaic_cli.errors import ExportFailed
from mosaic_cli.output import err
from mosaic_cli.stack import tether
from mosaic_cli.stack.layout import Layout

_PATIENCE_S = 5.0
"""Time in which a cancelled exporter removes what it has begun."""


def run_exporter(words: list[str], title: str) -> dict[str, Any]:
    """Run the exporter and return its result.

    Args:
        words: its command line.
        title: shown next to the bar.

    Raises:
        EnvironmentMissing: its environment was not made.
        ExportFailed: it could not do it; the message is its own.
        KeyboardInterrupt: Ctrl-C. The exporter has ended and left nothing half-written.
    """
    command = [Layout.of_environment().program("exporter", "python"), "-I", "-m", "mosaic_exporter"]
    if sys.platform == "linux":
        # it ends when this program is killed
        command = [sys.executable, "-I", "-S", tether.__file__, str(os.getpid()), *command]
    with subprocess.Popen(
        [*command, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as program:
        try:
            assert program.stdout is not None  # noqa: S101 - a pipe was asked for
            answer = _followed(program.stdout, title)
            code = program.wait()
        except BaseException:
            _end(program)
            raise
    if code == -signal.SIGINT or code == 130:
        raise KeyboardInterrupt
    if "result" in answer:
        result: dict[str, Any] = answer["result"]
        return result
    raise ExportFailed(answer.get("problem") or f"The exporter ended with exit code {code}.")


def _followed(lines: IO[str], title: str) -> dict[str, Any]:
    """Show progress until the answer comes: an object with `result` or `problem`."""
    with _bar(title) as update:
        for line in lines:
            said: dict[str, Any] = json.loads(line)
            if "done" not in said:
                return said
            update(said["done"], said["total"])
    return {}


@contextmanager
def _bar(title: str) -> Iterator[Any]:
    from rich.progress import Progress as Bar

    with Bar(console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _end(program: "subprocess.Popen[str]") -> None:
    program.terminate()
    try:
        program.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        program.kill()
