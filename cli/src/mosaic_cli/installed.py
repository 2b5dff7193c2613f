"""The console script `mosaic` of an installed package: the same verbs under the name that the user has.

The package carries the tree of everything that a stack consists of. Environments are made from it in the user's data
folder when a verb needs them, as `./mosaic` does in a checkout.
"""

import os
import sys
from pathlib import Path
from typing import NoReturn

from mosaic_base.data_root import HOME_FOLDER
from mosaic_cli import command_name, completing
from mosaic_cli import main as verbs
from mosaic_environments import command
from mosaic_environments.errors import EnvironmentProblem
from mosaic_environments.tree import Tree

TREE = Path(__file__).parent / "_tree"
"""Written by `./mosaic build`; a package that was installed from a checkout has none, and can start no stack."""
ALSO = f"""
Also:
  mosaic gui        the same in a window: launch, watch, compare
  mosaic {command.SYNC_USAGE}
"""


def main() -> None:
    """Run one verb as `mosaic VERB`."""
    command_name.use("mosaic")
    if TREE.is_dir():
        try:
            tree = _use_tree()
            if not completing.is_asked():
                _prepare(tree, sys.argv[1:])
        except EnvironmentProblem as problem:
            print(f"mosaic: {problem}", file=sys.stderr)
            sys.exit(2)
        except KeyboardInterrupt:
            sys.exit(130)
    verbs.main()


def _use_tree() -> Tree:
    """Name tree, environments and data root to this process and to those that it starts."""
    from platformdirs import user_data_path

    data = user_data_path("mosaic")
    command.check_path("the data folder", str(data))
    for name in ("MOSAIC_VENVS", "MOSAIC_HOME"):
        command.check_path(name, os.environ.get(name, ""))
    venvs = os.environ.get("MOSAIC_VENVS") or str(data / "environments")
    tree = Tree(str(TREE), str(Path(venvs).absolute()), is_checkout=False)
    program = str(Path(sys.argv[0]).absolute())
    home = str(data / HOME_FOLDER)
    os.environ.update(command.stack_environment(tree, dict(os.environ), home=home, program=program))
    return tree


def _prepare(tree: Tree, words: list[str]) -> None:
    """Make the environments that the verb needs; run a verb that is not the command line's."""
    verb = words[0] if words else ""
    if verb == "sync":
        _sync(tree, words[1:])
    elif verb == "gui":
        command.run_gui(tree, words[1:], dict(os.environ))
    elif verb in ("", "--help", "-h", "help"):
        _help()
    else:
        command.sync(tree, command.needed(tree, words, dict(os.environ)))


def _sync(tree: Tree, words: list[str]) -> NoReturn:
    if "--help" in words or "-h" in words:
        print(f"Usage: mosaic {command.SYNC_USAGE}")
    else:
        command.sync_verb(tree, words)
    sys.exit(0)


def _help() -> NoReturn:
    """Print the help of all verbs, with those that only an installed package adds to the command line's own."""
    sys.argv[1:] = ["--help"]
    try:
        verbs.main()
    finally:
        print(ALSO)
    sys.exit(0)
