"""Programs in children of a process that has imported what they need: imports take longer than a short run."""

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_ERRORS = "replace"


class ForkedProgram:
    """One such child, with what tests use of `subprocess.Popen`.

    Args:
        child: the process.
        output: file of its standard output and errors.
    """

    def __init__(self, child: Any, output: Path) -> None:
        self._child = child
        self._output = output

    @property
    def pid(self) -> int:
        """Its process id."""
        return int(self._child.pid)

    @property
    def returncode(self) -> int | None:
        """Its exit code, negative for a signal; None: it has not ended."""
        return self._child.exitcode  # type: ignore[no-any-return] # of a child of any start method

    def poll(self) -> int | None:
        """Return `returncode`."""
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send it SIGTERM, unless it has ended."""
        self.send_signal(signal.SIGTERM)

    def finish(self, timeout_s: float) -> str:
        """Wait for its end and return what it printed.

        Raises:
            subprocess.TimeoutExpired: it had not ended in time, and was killed.
        """
        self._child.join(timeout_s)
        if self.returncode is None:
            self._child.kill()
            self._child.join()
            raise subprocess.TimeoutExpired(self._output.name, timeout_s)
        return self._output.read_text(encoding="utf-8", errors=_ERRORS)


class ForkServer:
    """Starts `python -m MODULE` in children of one process, which is made for the first of them.

    There is one such process in a test session: all servers share it, with the modules of the one that began.

    Args:
        modules: what it imports.
    """

    def __init__(self, modules: Sequence[str]) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(list(modules))

    def start(
        self,
        module: str,
        words: Sequence[str],
        *,
        folder: Path,
        environ: Mapping[str, str],
        output: Path,
    ) -> ForkedProgram:
        """Start a module as a program.

        Args:
            module: its name.
            words: arguments of its command line.
            folder: its current folder.
            environ: its environment variables.
            output: file for its standard output and errors.

        Returns:
            The child.
        """
        given = (module, list(words), folder, dict(environ), output)
        child = self._context.Process(target=_serve, args=given)
        child.start()
        return ForkedProgram(child, output)


def _serve(
    module: str, words: list[str], folder: Path, environ: dict[str, str], output: Path
) -> None:
    with output.open("wb") as file:
        for number in (1, 2):
            os.dup2(file.fileno(), number)
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(folder)
    sys.argv = [module, *words]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
