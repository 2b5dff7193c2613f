"""Paths inside a run folder, safe against every way out of it: resolve first, then compare.

A run folder that is itself a link is not followed, as in `mosaic_base.file_tree`: what is not listed is not opened. The
folder that all runs lie in may be a link.
"""

from pathlib import Path, PurePosixPath

from mosaic_contracts.manifest import PRIVATE_DIRS


class PathRefused(ValueError):
    """A path leads out of the run folder or into its private parts."""


def resolve_inside(run_dir: Path, relative: str) -> Path:
    """The real path of `relative` below `run_dir`, links followed.

    Raises:
        PathRefused: absolute, `..`, NUL, not in its simplest form, a link that leads out, or a private part.
        FileNotFoundError: nothing is there.
    """
    parts = PurePosixPath(relative).parts
    # One name for one file: `a//b`, `a/./b` and `a/b/` are not `a/b`.
    if not parts or "\0" in relative or ".." in parts or "/".join(parts) != relative:
        raise PathRefused("the path must name a file below the run folder")
    if parts[0] in PRIVATE_DIRS:
        raise PathRefused("this part of the run folder is private")
    try:
        real = _root(run_dir).joinpath(*parts).resolve(strict=True)
    except (OSError, RuntimeError, UnicodeEncodeError) as error:
        # Also too long a name, a name that cannot be one here, or links that go in a circle (RuntimeError).
        raise FileNotFoundError(relative) from error
    if not is_inside(run_dir, real):
        raise PathRefused("the path leads out of the run folder or into a private part of it")
    return real


def _root(run_dir: Path) -> Path:
    """The run folder without links above it; where it is a link, no real path is below it."""
    return run_dir.parent.resolve() / run_dir.name


def is_inside(run_dir: Path, real: Path) -> bool:
    """Whether `real`, a path without links, is in the part of the run folder that may be read."""
    root = _root(run_dir)
    return (
        real.is_relative_to(root)
        and real != root
        and real.relative_to(root).parts[0] not in PRIVATE_DIRS
    )
