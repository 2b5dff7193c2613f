"""The page `Checkpoints`: what was learned over all runs, found, compared, verified and used."""

from PyQt6.QtCore import QMimeData, QPoint, Qt, pyqtSignal
from PyQt6.QtGui import QDragEnterEvent, QDropEvent, QKeyEvent
from PyQt6.QtWidgets import (
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QProgressBar,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from mosaic_gui.state.checkpoint_list import CardChoice, CardOrder
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.checkpoints import CheckpointsModel, ImportQuestion
from mosaic_gui.views.bases import VisibilityFrame, list_and_panel
from mosaic_gui.views.checkpoint_cards import CheckpointCardView
from mosaic_gui.views.checkpoint_side import CheckpointSide
from mosaic_gui.views.command import named_shortcut
from mosaic_gui.views.form_field import CalmCombo
from mosaic_gui.views.import_popup import ImportPopup
from mosaic_gui.views.segments import Segments
from mosaic_gui.views.text import ElidedLabel, button, frame, label

SEARCH_WIDTH, EMPTY_WIDTH = 220, 520


class CheckpointSearch(QLineEdit):
    """A search field from which the arrow keys lead into the cards."""

    left = pyqtSignal()

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        if event is not None and event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self.left.emit()
        else:
            super().keyPressEvent(event)


class CheckpointsPage(VisibilityFrame):
    """Search and sort above, cards on the left, the chosen checkpoint on the right."""

    train_wanted = pyqtSignal()
    """A first training is to be started."""

    def __init__(self, model: CheckpointsModel) -> None:
        super().__init__()
        self.setObjectName("page.checkpoints")
        self.setAcceptDrops(True)
        self._model = model
        self._count = label("", "muted")
        self.search = CheckpointSearch()
        self.choices = Segments(
            {
                CardChoice.ALL: tr("All"),
                CardChoice.BEST: tr("Best"),
                CardChoice.NEWEST: tr("Newest"),
            },
            "checkpoints.choice",
        )
        self.order = CalmCombo()
        self.cards = CheckpointCardView(model)
        self.side = CheckpointSide(model)
        self.check = button(tr("Verify all"), "quiet", "checkpoints.check_all")
        self.importing = button(tr("Import"), "quiet", "checkpoints.import")
        self._strip = self._make_strip()
        self._stack = QStackedWidget()
        self._arrange()
        self._filled = list_and_panel(self.cards, self.side)
        self._empty, self._other = self._make_empty(), self._make_other()
        for part in (self._filled, self._empty, self._other):
            self._stack.addWidget(part)
        self._connect()
        self.refresh()

    def refresh(self) -> None:
        """Show counts, progress, and why there are no cards."""
        model = self._model
        shown, total = len(model.shown_rows), model.total
        self._count.setText(
            tr_n("{n} checkpoint", "{n} checkpoints", total)
            if shown == total
            else tr_n("{shown} of {n} checkpoint", "{shown} of {n} checkpoints", total, shown=shown)
        )
        for part in (self._count, self.search, self.choices, self.order, self.check):
            part.setVisible(total > 0)
        self.check.setEnabled(bool(shown) and model.check_progress is None)
        if shown:
            self._stack.setCurrentWidget(self._filled)
        elif model.is_read and not total and not model.problem:
            self._stack.setCurrentWidget(self._empty)
        else:
            self._show_other()
        self._show_progress()

    def play(self) -> None:
        """Act on the current card or heading; from the search field play the chosen checkpoint."""
        if self.cards.hasFocus():
            self.cards.act()
        else:
            self._model.play()

    def _show_other(self) -> None:
        model = self._model
        self._stack.setCurrentWidget(self._other)
        if model.problem:
            self._words.setText(tr("The list could not be read. {why}", why=model.problem))
        elif model.total:
            self._words.setText(tr("No match"))
        else:
            self._words.setText(tr("Reading the checkpoints …"))
        self._again.setVisible(bool(model.problem))
        self._all.setVisible(bool(model.total) and not model.problem)

    def _show_progress(self) -> None:
        model = self._model
        progress, upload = model.check_progress, model.upload
        is_problem = bool(model.problem) and model.total > 0
        is_reading = model.is_reading and model.total > 0
        is_busy = progress is not None or upload is not None
        self._strip.setVisible(is_busy or is_problem or is_reading)
        self._bar.setVisible(is_busy)
        self._cancel.setVisible(is_busy)
        self.importing.setEnabled(upload is None)
        if upload is not None:
            name, sent, size = upload
            self._bar.setRange(0, 1_000)
            self._bar.setValue(round(1_000 * sent / max(1, size)))
            self._progress.set_whole(
                tr("Importing {file}", file=name)
                if sent < size
                else tr("{file} is sent. The worker looks into it …", file=name)
            )
        elif progress is not None:
            done, total = progress
            self._bar.setRange(0, total)
            self._bar.setValue(done)
            self._progress.set_whole(
                tr("Comparing hashes: {done} of {total}", done=done, total=total)
            )
        elif is_problem:
            self._progress.set_whole(tr("The list could not be read. {why}", why=model.problem))
        else:
            self._progress.set_whole(tr("Reading the checkpoints …"))

    def _arrange(self) -> None:
        self.search.setObjectName("checkpoints.search")
        self.search.setAccessibleName(tr("Search checkpoints"))
        self.search.setPlaceholderText(tr("Search (/) …"))
        self.search.setClearButtonEnabled(True)
        self.search.setMinimumWidth(110)
        self.search.setMaximumWidth(SEARCH_WIDTH)
        self.search.addAction(icon("search", "muted"), QLineEdit.ActionPosition.LeadingPosition)
        self.order.setObjectName("checkpoints.order")
        self.order.setAccessibleName(tr("Sort"))
        for key, word in (
            (CardOrder.DATE, tr("By date")),
            (CardOrder.RETURN, tr("By return")),
            (CardOrder.STEP, tr("By steps")),
        ):
            self.order.addItem(word, key.value)
        self.importing.setToolTip(
            tr("Import a checkpoint from a file; a file can be dropped on this page, too")
        )
        self.check.setToolTip(
            tr("Compare the files of all listed checkpoints with their recorded hashes")
        )
        head = QHBoxLayout()
        head.setSpacing(10)
        head.addWidget(label(tr("Checkpoints"), "title"))
        head.addWidget(self._count)
        head.addStretch(1)
        head.addWidget(self.search, 2)
        for part in (self.choices, self.order, self.check, self.importing):
            head.addWidget(part)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 16, 20, 16)
        layout.setSpacing(12)
        layout.addLayout(head)
        layout.addWidget(self._strip)
        layout.addWidget(self._stack, 1)

    def _connect(self) -> None:
        model = self._model
        model.changed.connect(self.refresh)
        self.shown.connect(model.set_shown)
        self.search.textChanged.connect(self._on_words)
        self.search.left.connect(self.cards.setFocus)
        self.choices.chosen.connect(model.show_choice)
        self.choices.chosen.connect(self.cards.show_chosen)
        self.order.activated.connect(self._on_order)
        self.check.clicked.connect(model.check_shown)
        self._cancel.clicked.connect(model.cancel)
        self.importing.clicked.connect(self._choose_file)
        model.import_asked.connect(self._ask)
        self.cards.play_wanted.connect(model.play)
        self.cards.menu_wanted.connect(self.side.show_menu)
        self.side.said.connect(model.said)
        named_shortcut(self, "/", tr("Search checkpoints"), self.start_search)
        for keys, text in (("Return", tr("Play the chosen checkpoint")), ("Enter", "")):
            named_shortcut(self, keys, text, self.play)

    def start_search(self) -> None:
        """Put the cursor into the search field."""
        self.search.setFocus()
        self.search.selectAll()

    def dragEnterEvent(self, event: QDragEnterEvent | None) -> None:
        if event is not None and _file_of(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent | None) -> None:
        file = _file_of(event.mimeData()) if event is not None else ""
        if file and event is not None:
            event.acceptProposedAction()
            self._model.import_wanted.emit(file, {})

    def _choose_file(self) -> None:
        dialog = QFileDialog(self, tr("Import a checkpoint"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(lambda file: self._model.import_wanted.emit(file, {}))
        dialog.open()

    def _ask(self, question: ImportQuestion) -> None:
        popup = ImportPopup(self, question)
        popup.given.connect(self._model.import_wanted)
        popup.show_at(self.importing.mapToGlobal(QPoint(0, self.importing.height() + 4)))

    def _on_words(self, words: str) -> None:
        self._model.search(words)
        self.cards.scrollToTop()

    def _on_order(self, number: int) -> None:
        self._model.sort(str(self.order.itemData(number)))
        self.cards.show_chosen()

    def _show_all(self) -> None:
        self.search.clear()
        self.choices.choose(CardChoice.ALL)

    def _make_strip(self) -> QWidget:
        made = QWidget()
        self._progress = ElidedLabel("", "small")
        self._bar = QProgressBar()
        self._bar.setObjectName("checkpoints.progress")
        self._bar.setTextVisible(False)
        self._bar.setFixedHeight(6)
        self._cancel = button(tr("Cancel"), "quiet", "checkpoints.cancel")
        row = QHBoxLayout(made)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        row.addWidget(self._progress, 1)
        row.addWidget(self._bar, 1)
        row.addWidget(self._cancel)
        return made

    def _make_empty(self) -> QFrame:
        """Say how to get a checkpoint."""
        panel = frame("panel")
        layout = QVBoxLayout(panel)
        hero = label(tr("No checkpoint yet"), "hero")
        words = label(
            tr(
                "A training that saves checkpoints puts them here. CleanRL and SPADE do that by themselves. "
                "Train an agent, or run ./mosaic demo in a terminal."
            ),
            "muted",
            wraps=True,
        )
        words.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        words.setFixedWidth(EMPTY_WIDTH)
        middle = QHBoxLayout()
        middle.addStretch(1)
        middle.addWidget(words)
        middle.addStretch(1)
        train = button(tr("Train new"), "primary", "checkpoints.first")
        train.clicked.connect(self.train_wanted)
        layout.addStretch(2)
        layout.addWidget(hero, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addLayout(middle)
        layout.addSpacing(10)
        layout.addWidget(train, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(3)
        return panel

    def _make_other(self) -> QFrame:
        panel = frame("panel")
        layout = QVBoxLayout(panel)
        self._words = label("", "heading", wraps=True)
        self._words.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._again = button(tr("Try again"), "", "checkpoints.again")
        self._again.clicked.connect(self._model.wanted)
        self._all = button(tr("Show all checkpoints"), "", "checkpoints.show_all")
        self._all.clicked.connect(self._show_all)
        layout.addStretch(2)
        layout.addWidget(self._words)
        for part in (self._again, self._all):
            layout.addWidget(part, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(3)
        return panel


def _file_of(data: QMimeData | None) -> str:
    """The one file of this machine that is dragged; empty: something else is."""
    urls = data.urls() if data is not None else []
    return urls[0].toLocalFile() if len(urls) == 1 else ""
