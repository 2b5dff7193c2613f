"""Makes a piped program's stdout line-buffered, as it is on a terminal, when the program is Python.

Python buffers 8 KiB when stdout is a pipe, so lines would come late. PYTHONUNBUFFERED would send a line and its end
with two writes, and lines of several processes would run into each other. The program finds this file by PYTHONPATH,
and Python imports a module of this name at its start. Every version that the program may use must be able to run it.
"""

import os
import stat
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib costs 10 ms at every start


def _buffer_lines() -> None:
    try:
        is_pipe = stat.S_ISFIFO(os.fstat(1).st_mode)
    except OSError:
        return  # no stdout at all
    if is_pipe and hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)


def _run_hidden() -> None:
    """Run the module of the same name that this one hides, if the environment has one."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = sys.modules["sitecustomize"] = module_from_spec(spec)
        spec.loader.exec_module(module)


_buffer_lines()
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _HERE]  # noqa: PTH100 - as above
_run_hidden()
