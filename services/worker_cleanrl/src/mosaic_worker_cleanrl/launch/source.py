"""The code of a run whose script lies in a checkout: the script in the run's folder, and the commit of the checkout."""

import hashlib
from pathlib import Path
from typing import Any

from mosaic_workerkit.git_state import git_state

SOURCE = "source"
"""Folder in the run's folder, and kind of the artifact."""


def keep_source(script: Path, run_dir: Path) -> dict[str, Any]:
    """Copy a script into the folder of its run.

    Returns:
        For the config: `script_file` with the path in the run's folder and the digest, and `git` where it is known.

    Raises:
        OSError: the file cannot be read or written.
    """
    data = script.read_bytes()
    kept = run_dir / SOURCE / script.name
    kept.parent.mkdir(exist_ok=True)
    kept.write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    path = kept.relative_to(run_dir).as_posix()
    return {**git_state(script), "script_file": {"path": path, "sha256": digest}}
