"""What of a run's files the stack does not get, and why: the run says so, for the folder on the node may go."""

from enum import Enum


class LeftReason(Enum):
    """Why a file stays on its node. The value is how a note names one file, and several."""

    LINK = ("symbolic link", "symbolic links")
    NAME = (
        "file with a name that is too long or no UTF-8",
        "files with names that are too long or no UTF-8",
    )
    UNREADABLE = ("file or folder that cannot be read", "files or folders that cannot be read")
    REFUSED = (
        "file whose place the stack cannot use",
        "files whose places the stack cannot use",
    )


_SHOWN = 3
_SHOWN_CHARS = 60


class LeftFiles:
    """The files that the last look left out, by reason."""

    def __init__(self) -> None:
        self._paths: dict[LeftReason, set[str]] = {}

    def add(self, path: str, reason: LeftReason) -> None:
        """Note a file."""
        self._paths.setdefault(reason, set()).add(path)

    @property
    def are_any(self) -> bool:
        """Whether a file with data is among them; a link has none of its own."""
        return any(reason is not LeftReason.LINK for reason in self._paths)

    def notes(self, node: str) -> list[str]:
        """For the run: how many files stayed on `node`, with some of their names."""
        return [
            f"{len(paths)} {reason.value[len(paths) > 1]} stayed on {node}: {_some(paths)}."
            for reason, paths in self._paths.items()
        ]


def _some(paths: set[str]) -> str:
    shown = [_printable(path) for path in sorted(paths)[:_SHOWN]]
    more = len(paths) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _printable(path: str) -> str:
    """A path as text that may travel, whatever bytes its name has; a long one loses its middle."""
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    half = _SHOWN_CHARS // 2
    return text if len(text) <= _SHOWN_CHARS else f"{text[:half]}...{text[-half:]}"
