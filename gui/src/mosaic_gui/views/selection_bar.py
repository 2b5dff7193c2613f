"""The bar above the run list: how many runs are selected, and buttons for what is done with them most."""

from PyQt6.QtWidgets import QHBoxLayout, QWidget

from mosaic_gui.state.external_links import ExternalLink
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.theme.icon import icon
from mosaic_gui.views.chosen_keys import tip_of_action
from mosaic_gui.views.external_links import show_tensorboard
from mosaic_gui.views.run_commands import RunCommands
from mosaic_gui.views.text import button, label


class SelectionBar(QWidget):
    """The bar; it keeps its space while nothing is selected."""

    def __init__(self, commands: RunCommands) -> None:
        super().__init__()
        self._actions = (
            commands.open_action,
            commands.copy_action,
            commands.tag_action,
            commands.note_action,
            commands.delete_action,
            commands.stop_action,
        )
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 6, 10, 6)
        row.setSpacing(6)
        self.selection = label("", "small")
        self.back_from_trials = button(tr("All runs"), "quiet", "runs.back_from_trials")
        self.back_from_trials.setIcon(icon("arrow_left", "muted"))
        self.back_from_trials.hide()
        row.addWidget(self.back_from_trials)
        row.addWidget(self.selection)
        row.addStretch(1)
        self.tensorboard = button(tr("TensorBoard"), "quiet", "runs.tensorboard")
        row.addWidget(self.tensorboard)
        self.buttons = {}
        """By the name of their action."""
        for action in self._actions:
            kind = "stop" if action is commands.stop_action else "quiet"
            made = button(action.text(), kind, f"runs.{action.objectName()}")
            tip_of_action(made, action)
            made.clicked.connect(action.trigger)
            self.buttons[action.objectName()] = made
            row.addWidget(made)
        commands.anchors.update(self.buttons)

    def refresh(self, number: int, idle_words: str) -> None:
        """Show the number of selected runs, or `idle_words` without one, and what the commands are now."""
        self.selection.setText(
            tr_n("{n} run selected", "{n} runs selected", number) if number else idle_words
        )
        for action in self._actions:
            made = self.buttons[action.objectName()]
            made.setEnabled(action.isEnabled())
            made.setText(action.text())

    def show_link(self, tensorboard: ExternalLink) -> None:
        """Show whether the selected runs can be opened in TensorBoard, or why not."""
        show_tensorboard(self.tensorboard, tensorboard)
