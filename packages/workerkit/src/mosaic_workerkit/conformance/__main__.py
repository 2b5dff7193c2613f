"""`python -m mosaic_workerkit.conformance`."""

import sys

from mosaic_workerkit.conformance.command import main

if __name__ == "__main__":
    sys.exit(main())
