"""Files of a run of another program. No link below its folder is followed."""

from pathlib import Path

from mosaic_base.file_tree import FILE, list_files
from mosaic_client.archive.foreign import ForeignFile


def files_below(folder: Path, target: str, kind: str) -> list[ForeignFile]:
    """All regular files of a folder.

    Args:
        folder: where they are.
        target: where they come in the run's folder.
        kind: their kind.

    Raises:
        OSError: the folder cannot be read.
    """
    found = list_files(folder.resolve()).files
    return [
        ForeignFile(f"{target}/{file.path}", folder / file.path, kind)
        for file in found
        if file.type == FILE and file.is_utf8
    ]
