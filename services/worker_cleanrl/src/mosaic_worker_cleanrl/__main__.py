"""`python -m mosaic_worker_cleanrl describe | check | train --run-dir DIR`."""

import sys

from mosaic_base.imports import large_imports

with large_imports():
    from mosaic_worker_cleanrl.worker import CleanrlWorker
    from mosaic_workerkit.entry import main

if __name__ == "__main__":
    sys.exit(main(CleanrlWorker()))
