"""What TensorBoard reads: for each selected run a folder of links to its event files, kept up to date.

TensorBoard follows every link. So it is given a folder of its own, in which each link leads to a file that was found
below a run's folder of event files without following one. The common part of the run's folders is left out of the
names, so that a run has the name that it has in the list.
"""

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from mosaic_contracts.dashboards import EVENT_FILE_MARK

_MAX_FILES = 5_000
"""Event files of one run that are shown; a run writes one for each writer and start."""


class EventFileLinks:
    """Links to the event files of one run.

    Args:
        source: the run's folder of event files; it may not exist yet.
        target: folder of the links. It must be nobody else's.
    """

    def __init__(self, source: Path, target: Path) -> None:
        self._source = source
        self._target = target
        self._linked: dict[str, str] = {}
        """Real path of each link, by its path below the target."""

    def refresh(self) -> None:
        """Add what is new, and remove what is gone."""
        wanted = _names(dict(_event_files(self._source)))
        for name in set(self._linked) - set(wanted):
            (self._target / name).unlink(missing_ok=True)
            del self._linked[name]
        for name, path in wanted.items():
            if self._linked.get(name) == path:
                continue
            place = self._target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink(missing_ok=True)
            place.symlink_to(path)
            self._linked[name] = path


def _event_files(source: Path) -> Iterator[tuple[PurePosixPath, str]]:
    """Regular event files below a folder, with their real paths.

    No link is followed but the one that the scheduler made to the run's folder of event files: what that names is no
    link, or shows nothing.
    """
    named = source.readlink() if source.is_symlink() else source
    if named.is_symlink():
        return
    root = os.path.realpath(named)
    count = 0
    for folder, _, names in os.walk(root, followlinks=False):
        for name in sorted(names):
            path = os.path.join(folder, name)  # noqa: PTH118 - names may be no text
            if EVENT_FILE_MARK not in name or not _is_file(path):
                continue
            yield PurePosixPath(os.path.relpath(path, root)), path
            count += 1
            if count >= _MAX_FILES:
                return


def _is_file(path: str) -> bool:
    return os.path.isfile(path) and not os.path.islink(path)  # noqa: PTH113, PTH114 - as above


def _names(found: dict[PurePosixPath, str]) -> dict[str, str]:
    """Paths without what all of their folders have in common."""
    if not found:
        return {}
    folders = [path.parent.parts for path in found]
    common = min(map(len, folders))
    while len({folder[:common] for folder in folders}) > 1:
        common -= 1
    return {"/".join(path.parts[common:]): real for path, real in found.items()}
