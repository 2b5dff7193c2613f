"""`python -m mosaic_worker_play describe | check | play --run-dir DIR | replay --run-dir DIR`."""

import sys

from mosaic_base.imports import large_imports

with large_imports():
    from mosaic_worker_play.worker import HumanWorker
    from mosaic_workerkit.entry import main

if __name__ == "__main__":
    sys.exit(main(HumanWorker()))
