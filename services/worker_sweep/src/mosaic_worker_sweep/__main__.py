"""`python -m mosaic_worker_sweep describe | check | sweep --run-dir DIR`."""

import sys

from mosaic_base.imports import large_imports

with large_imports():
    from mosaic_worker_sweep.worker import SweepWorker
    from mosaic_workerkit.entry import main

if __name__ == "__main__":
    sys.exit(main(SweepWorker()))
