"""`python -m mosaic_worker_spade describe | check | train --run-dir DIR`."""

import sys

from mosaic_worker_spade.worker import SpadeWorker
from mosaic_workerkit.entry import main

if __name__ == "__main__":
    sys.exit(main(SpadeWorker()))
