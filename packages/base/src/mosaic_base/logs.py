"""The end of a log file."""

from pathlib import Path


def read_end(path: Path, at_most_bytes: int) -> tuple[str, bool]:
    """Text of the last bytes of a file, and whether something stands before it.

    Broken UTF-8 is replaced, also a character that was cut at the beginning.

    Raises:
        OSError: there is no such file, or it cannot be read.
    """
    with path.open("rb") as file:
        start = max(0, file.seek(0, 2) - at_most_bytes)
        file.seek(start)
        return file.read(at_most_bytes).decode(errors="replace"), start > 0
