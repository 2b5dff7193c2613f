"""Paths inside a run folder, safe against every way out of it: resolve first, then compare."""

from pathlib import Path, PurePosixPath

from mosaic_contracts.launch import OUTBOX_DIR

CONTROL_DIR = "control"
PRIVATE = frozenset({CONTROL_DIR, OUTBOX_DIR})
"""Credentials and sockets; the outbox's segments. Nobody downloads them."""


class PathRefused(ValueError):
    """A path leads out of the run folder or into its private parts."""


def resolve_inside(run_dir: Path, relative: str) -> Path:
    """The real path of `relative` below `run_dir`, links followed.

    Raises:
        PathRefused: absolute, `..`, NUL, a link that leads out, or a private part.
        FileNotFoundError: nothing is there.
    """
    parts = PurePosixPath(relative).parts
    if not parts or "\0" in relative or relative.startswith("/") or ".." in parts:
        raise PathRefused("the path must name a file below the run folder")
    root = run_dir.resolve()
    try:
        real = root.joinpath(*parts).resolve(strict=True)
    except (NotADirectoryError, RuntimeError) as error:
        # RuntimeError: links that go in a circle.
        raise FileNotFoundError(relative) from error
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise
        # Too long a name, or a circle of links as newer Pythons tell it.
        raise FileNotFoundError(relative) from error
    if not real.is_relative_to(root) or real == root:
        raise PathRefused("the path leads out of the run folder")
    if real.relative_to(root).parts[0] in PRIVATE or parts[0] in PRIVATE:
        raise PathRefused("this part of the run folder is private")
    return real
