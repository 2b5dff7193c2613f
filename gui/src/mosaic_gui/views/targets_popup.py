"""A popup with the targets of alerts: test, remove, and add a webhook or a command with the user's consent."""

from PyQt6.QtCore import QPoint
from PyQt6.QtWidgets import QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from mosaic_gui.discard import discard
from mosaic_gui.state.alert_targets import COMMAND, WEBHOOK, TargetDraft, target_words
from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.alerts import AlertsModel
from mosaic_gui.views.popup import PanelPopup, open_popup
from mosaic_gui.views.segments import Segments
from mosaic_gui.views.text import button, label, restyle

WIDTH = 460


class TargetsPopup(PanelPopup):
    """Closes with Escape or a click outside."""

    def __init__(self, parent: QWidget, model: AlertsModel) -> None:
        super().__init__(parent)
        self._model, self._place = model, QPoint()
        self.kinds = Segments(
            {WEBHOOK: tr("Webhook"), COMMAND: tr("Command")}, "targets.kind", fills=True
        )
        self.name = _field("targets.name", tr("Name"), tr("a name, e.g. chat"))
        self.value = _field("targets.value", "", "")
        self.authorization = _field(
            "targets.authorization",
            tr("Authorization header"),
            tr("Authorization header, if it needs one"),
        )
        self.authorization.setEchoMode(QLineEdit.EchoMode.Password)
        self.words = label("", "small", wraps=True)
        self.add = button("", "primary", "targets.add")
        self._said = label("", "small", wraps=True)
        self._list = QVBoxLayout()
        self._rows: list[QWidget] = []
        self._lay_out()
        self.kinds.chosen.connect(lambda _key: self._show_form())
        for typed in (self.name, self.value, self.authorization):
            typed.textChanged.connect(lambda _text: self._show_form())
            typed.returnPressed.connect(self.add.click)
        self.add.clicked.connect(self._add)
        model.changed.connect(self._show_targets)
        model.target_said.connect(self._say)
        model.target_added.connect(self._on_added)
        self._show_targets()
        self._show_form()

    def show_at(self, place: QPoint) -> None:
        """Open with the focus on the name."""
        self._place = place
        open_popup(self, place)
        self.name.setFocus()

    @property
    def draft(self) -> TargetDraft:
        """What is entered."""
        is_webhook = self.kinds.key == WEBHOOK
        header = self.authorization.text().strip() if is_webhook else ""
        return TargetDraft(
            self.kinds.key, self.name.text().strip(), self.value.text().strip(), header
        )

    def _fit(self) -> None:
        """Have the size of what is shown, within the window."""
        if self.isVisible():
            open_popup(self, self._place)

    def _show_targets(self) -> None:
        for row in self._rows:
            discard(row)
        self._rows = [self._make_row(n) for n in range(len(self._model.targets))]
        if not self._rows:
            self._rows = [label(tr("No target yet. Every alert goes to every target."), "muted")]
        for row in self._rows:
            self._list.addWidget(row)
        self._fit()

    def _make_row(self, number: int) -> QWidget:
        target = self._model.targets[number]
        words = label(target_words(target), "warn" if target.last_problem else "", wraps=True)
        test = button(tr("Test"), "quiet", f"targets.test.{target.name}")
        remove = button(tr("Remove"), "quiet", f"targets.remove.{target.name}")
        remove.setToolTip(tr("The stack forgets its address or command; press twice"))
        test.clicked.connect(lambda: self._model.target_test_wanted.emit(target.name))
        remove.clicked.connect(lambda: self._remove(remove, target.name))
        made = QWidget()
        row = QHBoxLayout(made)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(words, 1)
        row.addWidget(test)
        row.addWidget(remove)
        return made

    def _remove(self, pressed: QPushButton, name: str) -> None:
        """Remove a target with the second press: its secret cannot be brought back."""
        again = tr("Remove for good")
        if pressed.text() == again:
            self._model.target_removal_wanted.emit(name)
        else:
            pressed.setText(again)

    def _show_form(self) -> None:
        draft, is_webhook = self.draft, self.kinds.key == WEBHOOK
        title = tr("Address") if is_webhook else tr("Command")
        self.value.setAccessibleName(title)
        self.value.setPlaceholderText(
            tr("https://…, which takes a POST of JSON")
            if is_webhook
            else tr("a program with its arguments, e.g. notify-send MOSAIC")
        )
        self.value.setEchoMode(
            QLineEdit.EchoMode.PasswordEchoOnEdit if is_webhook else QLineEdit.EchoMode.Normal
        )
        self.authorization.setVisible(is_webhook)
        fault, is_begun = draft.fault, bool(draft.name and draft.value)
        if not is_webhook and not self._model.takes_commands:
            is_begun = True
            fault = tr(
                "Commands can only be added on the stack's own machine, in a window opened by `./mosaic gui`."
            )
        self.words.setText(draft.consent if not fault else fault if is_begun else "")
        self.add.setText(tr("Agree and add"))
        self.add.setEnabled(not fault)
        self._fit()

    def _add(self) -> None:
        if self.add.isEnabled():
            self._model.target_wanted.emit(self.draft)

    def _on_added(self) -> None:
        for typed in (self.name, self.value, self.authorization):
            typed.clear()

    def _say(self, words: str, is_fine: bool) -> None:
        self._said.setText(words)
        self._said.setProperty("kind", "small" if is_fine else "warn")
        restyle(self._said)
        self._fit()

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self.panel)
        layout.setContentsMargins(14, 12, 14, 14)
        layout.setSpacing(8)
        layout.addWidget(label(tr("Where alerts are sent"), "heading"))
        layout.addLayout(self._list)
        layout.addWidget(self._said)
        layout.addSpacing(4)
        layout.addWidget(label(tr("Add a target"), "section"))
        for part in (self.kinds, self.name, self.value, self.authorization, self.words):
            layout.addWidget(part)
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(self.add)
        layout.addLayout(foot)
        self.panel.setFixedWidth(WIDTH)


def _field(name: str, title: str, hint: str) -> QLineEdit:
    made = QLineEdit()
    made.setObjectName(name)
    made.setAccessibleName(title)
    made.setPlaceholderText(hint)
    return made
