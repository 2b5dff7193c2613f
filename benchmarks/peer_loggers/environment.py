"""Makes the environment of the loggers that peers.py measures, and prints its interpreter. No component holds them.

python3.11 benchmarks/peer_loggers/environment.py          make it as requirements.lock says, if it is not there
python3.11 benchmarks/peer_loggers/environment.py --lock   pin again what pyproject.toml asks for
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "packages" / "environments" / "src")]

from locking import lock  # noqa: E402 - found by the line above
from mosaic_environments.installer import Installer  # noqa: E402 - the same
from mosaic_environments.stamp import is_current  # noqa: E402 - the same
from mosaic_environments.syncing import sync_missing  # noqa: E402 - the same
from mosaic_environments.tree import Component, Tree  # noqa: E402 - the same


def main() -> None:
    """Make the environment, or pin it."""
    venvs = os.environ.get("MOSAIC_VENVS") or str(ROOT / "var" / "venvs")
    tree = Tree(str(ROOT), str(Path(venvs).absolute()), is_checkout=True)
    loggers = Component(str(HERE), tree.venvs)
    if "--lock" in sys.argv[1:]:
        lock(tree, Installer(tree, dict(os.environ)), loggers.folder, loggers.folder)
        return
    if not is_current(tree, loggers, dev=False):
        sync_missing(tree, [loggers], dev=False)
    print(loggers.python)


if __name__ == "__main__":
    main()
