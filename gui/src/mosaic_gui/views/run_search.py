"""The search box of the run list: completes the search language, and marks what cannot be understood."""

from collections.abc import Callable
from contextlib import suppress

from PyQt6.QtCore import QAbstractListModel, QEvent, QModelIndex, QObject, Qt, pyqtSignal
from PyQt6.QtGui import QColor, QInputMethodEvent, QKeyEvent, QTextCharFormat
from PyQt6.QtWidgets import QApplication, QCompleter, QLineEdit, QListView

from mosaic_contracts.run_search import MAX_SEARCH, SearchError, parse_search
from mosaic_contracts.search_completion import SearchCompletion, SearchVocabulary, complete_term
from mosaic_gui.state.language import tr
from mosaic_gui.theme.current import current, on_theme
from mosaic_gui.theme.icon import icon
from mosaic_gui.timers import single_shot_timer
from mosaic_gui.viewmodels.rows import ROOT
from mosaic_gui.views.text import label

SETTLED_MS = 700
"""Delay before a term that is still being written is called wrong."""
_POPUP_WIDTH = 380
_MOST_LINES = 10


class RunSearchBox(QLineEdit):
    """Emits each search that can be understood; of others it says what is wrong, and where."""

    searched = pyqtSignal(str)

    def __init__(
        self, apply: Callable[[str], None], vocabulary: Callable[[], SearchVocabulary]
    ) -> None:
        """`apply` searches; it raises SearchError where it cannot. `vocabulary`: what the runs have."""
        super().__init__()
        self._apply, self._vocabulary = apply, vocabulary
        self.setObjectName("runs.search")
        self.setPlaceholderText(tr("Search: lr>=1e-3 best>400 state:failed …"))
        self.setClearButtonEnabled(True)
        self.setMaxLength(MAX_SEARCH)
        self.setMinimumWidth(160)
        self.setMaximumWidth(520)
        self.setAccessibleName(tr("Search runs"))
        self.setToolTip(
            tr(
                "Words, or terms such as lr>=1e-3, best>400, state:failed, tag:ablation, env:CartPole*, since:2d. "
                "A minus before a term finds the others. Ctrl+Space completes."
            )
        )
        self.addAction(icon("search", "muted"), QLineEdit.ActionPosition.LeadingPosition)
        self.fault = label("", "fault")
        self.fault.setObjectName("runs.search.fault")
        self.fault.setVisible(False)
        self._error: SearchError | None = None
        self._offered = _Completions(self)
        self._completer = QCompleter(self._offered, self)
        self._completer.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        self._completer.setMaxVisibleItems(_MOST_LINES)
        self._completer.setWidget(self)
        popup = QListView()
        popup.setObjectName("runs.search.completions")
        popup.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        popup.setTextElideMode(Qt.TextElideMode.ElideRight)
        popup.setUniformItemSizes(True)
        self._completer.setPopup(popup)
        popup.installEventFilter(self)
        self._completer.activated[QModelIndex].connect(self._take)
        self._settle = single_shot_timer(self, self._on_settled, SETTLED_MS)
        self.textChanged.connect(self._on_text)
        self.textEdited.connect(lambda _text: self._offer())
        self.returnPressed.connect(self._take_word)
        on_theme(self, self._mark)

    @property
    def completions(self) -> list[str]:
        """What is offered, from top to bottom."""
        popup = self._completer.popup()
        if popup is None or not popup.isVisible():
            return []
        return [one.text for one in self._offered.found]

    def apply_again(self) -> None:
        """Search again, e.g. because a parameter became known since."""
        error, self._error = self._error, None
        if error is not None:
            self._on_text(self.text())

    def refuse_metric(self, word: str, names: list[str]) -> None:
        """Say that a metric of the search is not clear, or that no run has it."""
        text = self.text()
        if self._error is not None:
            return
        terms = parse_search(text).terms
        term = next((one for one in terms if one.key == word and one.figure), None)
        if term is None:
            return
        some = ", ".join(names[:6])
        reason = (
            tr("several metrics end so: {names}. Write one of them in full", names=some)
            if names
            else tr("no run has a metric {name}", name=word)
        )
        self._error = SearchError(text, term.start, term.end, reason)
        self._say_fault()

    def event(self, event: QEvent | None) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            is_asked = event.key() == Qt.Key.Key_Space and (
                event.modifiers() == Qt.KeyboardModifier.ControlModifier
            )
            if is_asked:
                event.accept()
                return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        is_control = event is not None and (
            event.modifiers() == Qt.KeyboardModifier.ControlModifier
        )
        if event is not None and (
            event.key() == Qt.Key.Key_Down or (is_control and event.key() == Qt.Key.Key_Space)
        ):
            self._offer(even_if_empty=True)
        else:
            super().keyPressEvent(event)

    def eventFilter(self, target: QObject | None, event: QEvent | None) -> bool:
        """Let Tab take the chosen completion, or the first one."""
        popup = self._completer.popup()
        if popup is None or target is not popup or not isinstance(event, QKeyEvent):
            return super().eventFilter(target, event)
        if event.type() == QEvent.Type.KeyPress and event.key() == Qt.Key.Key_Tab:
            chosen = popup.currentIndex()
            self._take(chosen if chosen.isValid() else self._offered.index(0, 0))
            return True
        return super().eventFilter(target, event)

    def _offer(self, *, even_if_empty: bool = False) -> None:
        popup, text = self._completer.popup(), self.text()
        found: list[SearchCompletion] = []
        if (text.strip() and not text[: self.cursorPosition()].endswith(" ")) or even_if_empty:
            found = complete_term(text, self.cursorPosition(), self._vocabulary())
        self._offered.replace(found)
        if popup is None:
            return
        if not found:
            popup.hide()
            return
        rect = self.cursorRect()
        rect.setWidth(_POPUP_WIDTH)
        self._completer.complete(rect)
        popup.setCurrentIndex(QModelIndex())

    def _take(self, index: QModelIndex) -> None:
        if not 0 <= index.row() < len(self._offered.found):
            return
        popup = self._completer.popup()
        if popup is not None:
            popup.hide()
        text, place = self._offered.found[index.row()].apply(self.text())
        self.setText(text)
        self.setCursorPosition(place)
        self.setFocus()
        if not text[:place].endswith(" "):
            self._offer()

    def _on_text(self, text: str) -> None:
        self._settle.stop()
        begun = self._begun_key(text)
        if begun is not None:
            # `lr` is about to become `lr>=1e-3`: nobody looks for these letters
            self._search_without(begun.start, begun.end)
            self._settle.start()
            return
        self._search(text)

    def _begun_key(self, text: str) -> SearchCompletion | None:
        """The word at the cursor, where it is the beginning of a key that is being written."""
        place = self.cursorPosition()
        if not self.hasFocus() or not text[:place].strip() or text[:place].endswith((" ", '"')):
            return None
        first = next(iter(complete_term(text, place, self._vocabulary(), 1)), None)
        if first is None or any(sign in text[first.start : place] for sign in ":=<>"):
            return None
        is_begun = first.text.casefold().startswith(text[first.start : place].casefold())
        return first if is_begun else None

    def _search(self, text: str) -> None:
        try:
            self._apply(text)
        except SearchError as error:
            self._error = error
            is_being_written = self.hasFocus() and error.end >= self.cursorPosition()
            if is_being_written and not self.fault.isVisible():
                self._search_without(error.start, error.end)
                self._settle.start()
            else:
                self._say_fault()
            return
        self._error = None
        self.fault.setVisible(False)
        self._mark()
        self.searched.emit(text)

    def _search_without(self, start: int, end: int) -> None:
        """Search without a word that is still being written."""
        text = self.text()
        with suppress(SearchError):  # the rest has a mistake of its own, which is marked
            self._apply(f"{text[:start]}{text[end:]}")

    def _on_settled(self) -> None:
        """Take the word at the cursor as it stands, unless it is being completed."""
        if self.completions and self._error is None:
            self._settle.start()
            return
        self._take_word()

    def _take_word(self) -> None:
        if self._error is None:
            self._search(self.text())
        self._say_fault()

    def _say_fault(self) -> None:
        error = self._error
        if error is None:
            return
        word = error.text[error.start : error.end]
        reason = error.reason[:1].upper() + error.reason[1:]
        self.fault.setText(f"{word}  —  {reason}" if word else reason)
        self.fault.setVisible(True)
        self._mark()

    def _mark(self) -> None:
        """Underline the word that is wrong. A field has no formats of its own but those of an input method."""
        error = self._error if self.fault.isVisible() else None
        attributes = []
        if error is not None and error.end > error.start:
            format_ = QTextCharFormat()
            format_.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
            format_.setUnderlineColor(QColor(current().bad))
            format_.setForeground(QColor(current().bad))
            attributes = [
                QInputMethodEvent.Attribute(
                    QInputMethodEvent.AttributeType.TextFormat,
                    error.start - self.cursorPosition(),
                    error.end - error.start,
                    format_,
                )
            ]
        QApplication.sendEvent(self, QInputMethodEvent("", attributes))


class _Completions(QAbstractListModel):
    """Completions with what they mean."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.found: list[SearchCompletion] = []

    def replace(self, found: list[SearchCompletion]) -> None:
        """Offer these."""
        self.beginResetModel()
        self.found = found
        self.endResetModel()

    def rowCount(self, parent: QModelIndex = ROOT) -> int:
        return 0 if parent.isValid() else len(self.found)

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> str | None:
        if not index.isValid():
            return None
        one = self.found[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return f"{one.text}   {one.help}" if one.help else one.text
        return one.text if role == Qt.ItemDataRole.EditRole else None
