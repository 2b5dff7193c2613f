"""Python imports this at its start, before the script: its folder is the first of `PYTHONPATH` for one run.

It makes stdout line-buffered, as it is on a terminal, begins to listen, and then runs the module of the same name that
it hides, if the environment has one. Every Python that a script may use must be able to run it.
"""

from __future__ import annotations

import os
import stat
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _buffer_lines() -> None:
    """Send each line at once and in one write.

    Python keeps 8 KiB back when stdout is a pipe. PYTHONUNBUFFERED would send a line and its end with two writes, and
    lines of several processes would run into each other.
    """
    try:
        is_pipe = stat.S_ISFIFO(os.fstat(1).st_mode)
    except OSError:
        return  # no stdout at all
    if is_pipe and hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)


def _listen() -> None:
    """Begin to listen, if the settings are in the environment."""
    if "MOSAIC_HOOK" not in os.environ:
        return
    from importlib.util import module_from_spec, spec_from_file_location

    # By its file: the folder that has the package may have other packages, which the script must not find.
    folder = os.path.dirname(_HERE)
    spec = spec_from_file_location(
        "mosaic_hook", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    if spec is None or spec.loader is None:
        return
    module = sys.modules["mosaic_hook"] = module_from_spec(spec)
    spec.loader.exec_module(module)
    from mosaic_hook.listening import listen

    listen()


def _run_hidden() -> None:
    """Run the module of the same name that this one hides, if the environment has one."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = sys.modules["sitecustomize"] = module_from_spec(spec)
        spec.loader.exec_module(module)


_buffer_lines()
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _HERE]
_listen()
_run_hidden()
