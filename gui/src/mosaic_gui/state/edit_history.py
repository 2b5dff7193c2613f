"""Undo and redo of a form, as snapshots of what was typed."""

from dataclasses import dataclass, field

MOST = 200
"""Snapshots that are kept."""


@dataclass(frozen=True)
class FormSnapshot:
    """Everything typed at one moment."""

    environment: str
    run: dict[str, str]
    arguments: dict[str, str]


@dataclass
class EditHistory:
    """Earlier and later states of the form, for undo and redo."""

    now: FormSnapshot
    _before: list[tuple[str, FormSnapshot]] = field(default_factory=list)
    """With what was edited after it."""
    _after: list[tuple[str, FormSnapshot]] = field(default_factory=list)
    _open: str = ""
    """What is being typed into: its next key belongs to the same edit."""

    def note(self, what: str, snapshot: FormSnapshot) -> None:
        """Record an edit. Several edits of one field in a row are one, until `seal`."""
        if snapshot == self.now:
            return
        if what != self._open:
            self._before.append((what, self.now))
            del self._before[:-MOST]
        self._open, self._after, self.now = what, [], snapshot

    def seal(self) -> None:
        """End the present edit, e.g. after a pause in typing."""
        self._open = ""

    @property
    def undoes(self) -> str:
        """What an undo would take back; empty: nothing."""
        return self._before[-1][0] if self._before else ""

    @property
    def redoes(self) -> str:
        """What a redo would bring back; empty: nothing."""
        return self._after[-1][0] if self._after else ""

    def undo(self) -> FormSnapshot | None:
        """The state before the last edit."""
        return self._step(self._before, self._after)

    def redo(self) -> FormSnapshot | None:
        """The state after the edit that was taken back last."""
        return self._step(self._after, self._before)

    def _step(
        self, source: list[tuple[str, FormSnapshot]], target: list[tuple[str, FormSnapshot]]
    ) -> FormSnapshot | None:
        if not source:
            return None
        what, snapshot = source.pop()
        target.append((what, self.now))
        self._open, self.now = "", snapshot
        return snapshot


@dataclass(frozen=True)
class SpecDiff:
    """One field in which a copy differs from its origin. Empty texts mean the default."""

    label: str
    before: str
    now: str
