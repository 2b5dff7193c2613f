"""The cards of the checkpoint browser as a list model: headings, cards, and what is still folded."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PyQt6.QtCore import QAbstractListModel, QModelIndex, QObject, Qt

from mosaic_contracts.checkpoints import CheckpointRow
from mosaic_gui.state.checkpoint_list import CheckpointAddress, CheckpointGroup, address_of
from mosaic_gui.state.checkpoint_texts import card_text, card_tip
from mosaic_gui.state.language import tr_n
from mosaic_gui.viewmodels.rows import ROOT

FIRST_SHOWN = 24
"""Cards of a group that are shown before the user asks for more."""
FURTHER = 480
"""Cards that are added then."""


@dataclass(frozen=True)
class GroupHeading:
    """The heading of a group. It folds the group."""

    group: CheckpointGroup
    is_folded: bool

    @property
    def title(self) -> str:
        """Environment and algorithm."""
        return f"{self.group.environment} · {self.group.algorithm}"

    @property
    def about(self) -> str:
        """How many checkpoints it has."""
        return tr_n("{n} checkpoint", "{n} checkpoints", len(self.group.rows))


@dataclass(frozen=True)
class MoreCards:
    """The cards of a group that are not shown yet."""

    group: CheckpointGroup
    hidden: int

    @property
    def title(self) -> str:
        """What it does."""
        return tr_n("Show {n} more", "Show {n} more", min(self.hidden, FURTHER))

    @property
    def about(self) -> str:
        """How many are left."""
        return tr_n("{n} not shown", "{n} not shown", self.hidden)


Entry = GroupHeading | CheckpointRow | MoreCards


class CheckpointCards(QAbstractListModel):
    """Entries in their order. Groups are replaced as a whole."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.entries: list[Entry] = []
        self._groups: Sequence[CheckpointGroup] = ()
        self._folded: set[tuple[str, str, str]] = set()
        self._limits: dict[tuple[str, str, str], int] = {}
        """Cards that are shown of a group, where the user asked for more."""
        self._places: dict[CheckpointAddress, int] = {}

    @property
    def are_cards(self) -> list[bool]:
        """For each entry whether it is a card."""
        return [isinstance(entry, CheckpointRow) for entry in self.entries]

    def replace(self, groups: Sequence[CheckpointGroup]) -> None:
        """Show these groups; what was folded or asked for stays so."""
        self._groups = groups
        self._rebuild()

    def place_of(self, address: CheckpointAddress | None) -> int | None:
        """Number of the entry of a checkpoint; None: it is not shown."""
        return self._places.get(address) if address is not None else None

    def act(self, number: int) -> bool:
        """Fold or unfold a heading, or show more; False: it is a card."""
        entry = self.entries[number]
        if isinstance(entry, CheckpointRow):
            return False
        key = entry.group.key
        if isinstance(entry, MoreCards):
            self._limits[key] = self._limits.get(key, FIRST_SHOWN) + FURTHER
        else:
            self._folded ^= {key}
        self._rebuild()
        return True

    def rowCount(self, parent: QModelIndex = ROOT) -> int:
        return 0 if parent.isValid() else len(self.entries)

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or role not in (
            Qt.ItemDataRole.DisplayRole,
            Qt.ItemDataRole.ToolTipRole,
        ):
            return None
        entry = self.entries[index.row()]
        if not isinstance(entry, CheckpointRow):
            words = f"{entry.title}, {entry.about}"
            return words if role == Qt.ItemDataRole.DisplayRole else None
        return card_text(entry, None) if role == Qt.ItemDataRole.DisplayRole else card_tip(entry)

    def _rebuild(self) -> None:
        self.beginResetModel()
        self.entries = []
        for group in self._groups:
            is_folded = group.key in self._folded
            self.entries.append(GroupHeading(group, is_folded))
            if is_folded:
                continue
            limit = self._limits.get(group.key, FIRST_SHOWN)
            self.entries += group.rows[:limit]
            if len(group.rows) > limit:
                self.entries.append(MoreCards(group, len(group.rows) - limit))
        self._places = {
            address_of(entry): number
            for number, entry in enumerate(self.entries)
            if isinstance(entry, CheckpointRow)
        }
        self.endResetModel()
