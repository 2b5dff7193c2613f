"""`python -m mosaic_worker_spade describe | check | train --run-dir DIR`."""

import atexit
import gc
import sys

from mosaic_base.imports import large_imports

with large_imports():
    from mosaic_worker_spade.worker import SpadeWorker
    from mosaic_workerkit.entry import main

if __name__ == "__main__":
    # Else the interpreter looks through all that spade brought for rings before it ends: half a second for nothing.
    atexit.register(gc.freeze)
    sys.exit(main(SpadeWorker()))
