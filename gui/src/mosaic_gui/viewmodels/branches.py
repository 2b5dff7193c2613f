"""The tree of branches of the episode that is replayed."""

from PyQt6.QtCore import QObject, Qt, pyqtSignal
from PyQt6.QtGui import QStandardItem, QStandardItemModel

from mosaic_gui.state import wording
from mosaic_gui.state.branches import (
    BranchFacts,
    BranchIndex,
    BranchNode,
    branch_help,
    path_to,
    return_words,
    step_to_open,
)
from mosaic_gui.state.episode_list import EpisodeAddress
from mosaic_gui.state.language import tr
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.viewmodels.player import PlayerModel

NODE = int(Qt.ItemDataRole.UserRole) + 1
"""Role of the BranchNode of a row."""
SHOWN = NODE + 1
"""Role that says whether a row is the episode that is shown."""
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class BranchTreeModel(QObject):
    """Rows of the tree: who acts, from which step, and the return so far."""

    changed = pyqtSignal()
    """Another tree, or another episode in it is shown."""
    open_wanted = pyqtSignal(object, int)
    """EpisodeAddress and step to show."""
    watch_wanted = pyqtSignal(str)
    """A run that has no episode to show, or is still played."""

    def __init__(self, store: Store, player: PlayerModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._player = store, player
        self.root: BranchNode | None = None
        self.shown: EpisodeAddress | None = None
        self.items = QStandardItemModel(self)
        self._drawn: tuple[BranchNode | None, EpisodeAddress | None] = (None, None)
        self._facts: dict[str, BranchFacts] = {}
        self._index: BranchIndex | None = None
        player.panes_changed.connect(self._on_panes)

    @property
    def count(self) -> int:
        """Number of branches."""
        return sum(1 for _ in self.root.walk()) - 1 if self.root is not None else 0

    def show(self, address: EpisodeAddress | None) -> None:
        """Show the tree of another episode; None: of none."""
        if address != self.shown:
            self.shown = address
            self._rebuild()

    def take_facts(self, run_id: str, facts: BranchFacts) -> None:
        """Take what is known of the episode of a run."""
        if self._facts.get(run_id) != facts:
            self._facts[run_id] = facts
            self._rebuild()

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick."""
        runs = self._store.runs
        shown = {node.run_id for node in self.root.walk()} if self.root is not None else set[str]()
        is_concerned = bool(changes.removed) or any(
            run_id in shown or (run_id in runs and runs[run_id].spec.start_from is not None)
            for run_id in changes.runs
        )
        if is_concerned:
            self._index = None
            self._rebuild()

    def clear(self) -> None:
        """Forget everything: another stack is shown."""
        self.shown, self._facts, self._index = None, {}, None
        self._rebuild()

    def open(self, run_id: str) -> None:
        """Show a node at the step where it branches off; one without recorded steps, or a live one, is watched."""
        root = self.root
        node = self._node(run_id)
        if root is None or node is None or not node.is_known:
            return
        has_steps = node.facts is None or node.facts.steps != 0
        if node.address is None or (node.step is not None and (node.is_live or not has_steps)):
            self.watch_wanted.emit(run_id)
            return
        self.open_wanted.emit(node.address, step_to_open(root, run_id, self.shown))

    def _on_panes(self) -> None:
        main = self._player.main
        self.show(main.address if main is not None else None)

    def _node(self, run_id: str) -> BranchNode | None:
        nodes = self.root.walk() if self.root is not None else iter(())
        return next((node for node in nodes if node.run_id == run_id), None)

    def _rebuild(self) -> None:
        shown, root = self.shown, None
        if shown is not None:
            if self._index is None:
                self._index = BranchIndex(self._store.runs)
            root = self._index.tree(shown, self._facts)
        if (root, shown) == self._drawn:
            return
        self.root, self._drawn = root, (root, shown)
        self.items.clear()
        self.items.setHorizontalHeaderLabels([tr("Who acts"), tr("From"), tr("Return")])
        for n in (1, 2):
            head = self.items.horizontalHeaderItem(n)
            if head is not None:
                head.setTextAlignment(_RIGHT)
        if self.root is not None:
            path = path_to(self.root, shown) if shown is not None else []
            invisible = self.items.invisibleRootItem()
            if invisible is not None:
                self._add(invisible, self.root, path[-1] if path else None)
        self.changed.emit()

    def _add(self, above: QStandardItem, node: BranchNode, shown: BranchNode | None) -> None:
        step = wording.NOTHING if node.step is None else wording.count(node.step)
        row = [QStandardItem(text) for text in (node.who, step, return_words(node))]
        is_shown = node is shown
        for item in row:
            item.setEditable(False)
            item.setEnabled(node.is_known)
            item.setData(node, NODE)
            item.setData(is_shown, SHOWN)
            item.setToolTip(branch_help(node))
            if is_shown:
                font = item.font()
                font.setBold(True)
                item.setFont(font)
        for item in row[1:]:
            item.setTextAlignment(_RIGHT)
        words = ", ".join((node.who, tr("from step {n}", n=step), return_words(node)))
        row[0].setAccessibleText(tr("{branch}, shown", branch=words) if is_shown else words)
        above.appendRow(row)
        for child in node.children:
            self._add(row[0], child, shown)
