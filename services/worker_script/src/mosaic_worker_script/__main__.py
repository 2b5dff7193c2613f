"""`python -m mosaic_worker_script [SCRIPT.toml [SCRIPT]] describe | check | train --run-dir DIR`.

Without a file it is the worker `script`, whose runs name their command line. With one it is a script that was added to
the roster; the script's own path follows so that the scheduler sees when it changes.
"""

import sys
from pathlib import Path

from mosaic_worker_script.added import AddedScript, read_script_file
from mosaic_worker_script.errors import ScriptUnreadable
from mosaic_worker_script.worker import ScriptWorker
from mosaic_workerkit.entry import main
from mosaic_workerkit.pipe.child import die_by


def _serve(words: list[str]) -> int:
    worker: AddedScript | ScriptWorker = ScriptWorker()
    if words and words[0].endswith(".toml"):
        try:
            worker = AddedScript(read_script_file(Path(words[0])))
        except ScriptUnreadable as error:
            print(error, file=sys.stderr)  # noqa: T201 - said to a person
            return 2
        words = words[2:] if len(words) > 1 and words[1].endswith(".py") else words[1:]
    code = main(worker, words)
    if worker.ending is not None and worker.ending.signal is not None:
        die_by(worker.ending.signal)
    return code


if __name__ == "__main__":
    sys.exit(_serve(sys.argv[1:]))
