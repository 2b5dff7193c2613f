"""`python -m mosaic_workerkit.pipe`."""

import sys

from mosaic_workerkit.pipe.command import main

if __name__ == "__main__":
    sys.exit(main())
