"""Free space."""

import shutil
from pathlib import Path


def free_bytes(home: Path) -> int:
    """Bytes free below `home` or, before it exists, its nearest parent that does."""
    folder = home
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free
