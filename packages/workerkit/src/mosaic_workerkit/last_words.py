"""What a failing worker says where a full disk cannot stop it: in blocks that its runner took at the start."""

import os
from pathlib import Path

from mosaic_contracts.launch import LAST_WORDS_FILE
from mosaic_workerkit.masking import SecretMask, read_secrets

MAX_BYTES = 2000
"""It must fit the exit report together with everything else."""


def leave_last_words(run_dir: Path, text: str) -> None:
    """Write why this worker fails. Does nothing in a folder without a runner."""
    mask = SecretMask(read_secrets(os.environ))
    data = " ".join(mask.in_text(text).split()).encode(errors="replace")[:MAX_BYTES]
    try:
        fd = os.open(run_dir / LAST_WORDS_FILE, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return  # started by hand, or the folder is gone: the log has it
    try:
        os.pwrite(fd, data, 0)
    finally:
        os.close(fd)
