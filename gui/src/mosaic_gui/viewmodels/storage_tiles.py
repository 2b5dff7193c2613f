"""The tiles of the picture of what fills the disk, as a list model."""

from collections.abc import Sequence
from typing import Any

from PyQt6.QtCore import QAbstractListModel, QModelIndex, QObject, Qt

from mosaic_gui.state.storage import tile_words
from mosaic_gui.state.storage_map import MapGroup, MapTile
from mosaic_gui.viewmodels.rows import ROOT

_TEXTS = (
    Qt.ItemDataRole.DisplayRole,
    Qt.ItemDataRole.ToolTipRole,
    Qt.ItemDataRole.AccessibleTextRole,
)


class StorageTiles(QAbstractListModel):
    """Tiles in the order of their groups. They are replaced as a whole."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.groups: Sequence[MapGroup] = ()
        self.tiles: list[MapTile] = []
        self.total = 0
        """Bytes of all tiles."""

    def replace(self, groups: Sequence[MapGroup]) -> None:
        """Show these groups."""
        if list(groups) == list(self.groups):
            return
        self.beginResetModel()
        self.groups = groups
        self.tiles = [tile for group in groups for tile in group.tiles]
        self.total = sum(tile.bytes for tile in self.tiles)
        self.endResetModel()

    def place_of(self, run_id: str, group: str) -> int | None:
        """Number of the tile of a run, in this group if it has one there; None: it is not shown."""
        found = [n for n, tile in enumerate(self.tiles) if tile.run_id == run_id and run_id]
        return next((n for n in found if self.tiles[n].group == group), found[0] if found else None)

    def rowCount(self, parent: QModelIndex = ROOT) -> int:
        return 0 if parent.isValid() else len(self.tiles)

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or role not in _TEXTS:
            return None
        words = tile_words(self.tiles[index.row()], self.total)
        return words if role == Qt.ItemDataRole.ToolTipRole else words.replace("\n", ", ")
