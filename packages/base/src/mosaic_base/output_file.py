"""The file that a finished download or export becomes."""

import errno
import os
from pathlib import Path


def output_file(target: Path) -> Path:
    """The regular file, existing or not, that `target` names; a link is followed, so that it stays a link.

    Raises:
        OSError: a device, a pipe or a socket, which a finished file would replace (as root also /dev/null).
    """
    path = Path(os.path.realpath(target))
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(errno.EINVAL, "it is no regular file", str(target))
    return path
