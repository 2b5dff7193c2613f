"""`python -m mosaic_workerkit.check_worker`."""

import sys

from mosaic_workerkit.check_worker.command import main

if __name__ == "__main__":
    sys.exit(main())
