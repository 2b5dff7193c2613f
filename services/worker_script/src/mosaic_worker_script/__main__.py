"""`python -m mosaic_worker_script describe | check | train --run-dir DIR`."""

import sys

from mosaic_worker_script.worker import ScriptWorker
from mosaic_workerkit.entry import main
from mosaic_workerkit.pipe.child import die_by


def _serve() -> int:
    worker = ScriptWorker()
    code = main(worker)
    if worker.ending is not None and worker.ending.signal is not None:
        die_by(worker.ending.signal)
    return code


if __name__ == "__main__":
    sys.exit(_serve())
