"""`python -m mosaic_gui`: the desktop client."""

import os
import sys

from mosaic_base.imports import large_imports
from mosaic_gui.errors import ArgumentInvalid, GuiError, StackUnknown
from mosaic_gui.program.arguments import Arguments, parse_arguments
from mosaic_gui.program.qt_check import check_platform, explain_import

EXIT_USAGE = 2
EXIT_NO_STACK = 3
EXIT_NOT_NOW = 6


def main() -> int:
    """Run the client; an expected fault is a message and an exit code."""
    try:
        arguments = parse_arguments(sys.argv[1:])
        if arguments.screenshot is not None:
            os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
        if arguments.entry is not None:
            return _change_entry(arguments.entry)
        check_platform()
        return _run(arguments)
    except ArgumentInvalid as error:
        print(f"mosaic: {error}", file=sys.stderr)
        return EXIT_USAGE
    except StackUnknown as error:
        print(f"mosaic: {error}", file=sys.stderr)
        return EXIT_NO_STACK
    except GuiError as error:
        print(f"mosaic: {error}", file=sys.stderr)
        return EXIT_NOT_NOW


def _change_entry(is_wanted: bool) -> int:
    """Add MOSAIC to the applications menu or remove it, and say so."""
    try:
        from mosaic_gui.controllers.desktop_entry import install_entry, remove_entry
    except ImportError as error:
        raise explain_import(error) from error
    if is_wanted:
        print(f"MOSAIC is in the applications menu: {install_entry()}")
    elif remove_entry():
        print("MOSAIC is no longer in the applications menu.")
    else:
        print("MOSAIC is not in the applications menu.")
    return 0


def _run(arguments: Arguments) -> int:
    try:
        # here and not above: a library that is missing on this machine is to be named, not traced
        with large_imports():
            from mosaic_gui.program.run import run_program
    except ImportError as error:
        raise explain_import(error) from error
    return run_program(arguments)


if __name__ == "__main__":
    sys.exit(main())
