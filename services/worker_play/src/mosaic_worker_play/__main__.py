"""`python -m mosaic_worker_play describe | check | play --run-dir DIR | replay --run-dir DIR`."""

import sys

from mosaic_worker_play.worker import HumanWorker
from mosaic_workerkit.entry import main

if __name__ == "__main__":
    sys.exit(main(HumanWorker()))
