"""`python -m mosaic_worker_cleanrl [--checkout FOLDER --id WORKER] describe | check | train --run-dir DIR`.

With --checkout the scripts are those of a checkout of CleanRL, and the worker is called WORKER.
"""

import sys
from pathlib import Path

from mosaic_base.imports import large_imports

with large_imports():
    from mosaic_worker_cleanrl.checkout import use_checkout
    from mosaic_worker_cleanrl.errors import CheckoutMissing
    from mosaic_worker_cleanrl.worker import CleanrlWorker
    from mosaic_workerkit.entry import main


def run(words: list[str]) -> int:
    """Serve one command and return the exit code."""
    if words[:1] == ["--checkout"]:
        _, folder, _, worker, *words = words
        try:
            use_checkout(worker, Path(folder))
        except CheckoutMissing as error:
            print(error, file=sys.stderr)  # noqa: T201 - the worker's log
            return 1
    return main(CleanrlWorker(), words)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
