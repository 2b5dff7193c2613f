"""The stages of a run that starts, where its charts will be."""

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QGridLayout, QWidget

from mosaic_gui.state import wording
from mosaic_gui.state.start_stages import StartStage
from mosaic_gui.views.text import IconLabel, label

WIDTH = 300


class StartStages(QWidget):
    """A line for each stage: done or present, words, and how long it took or takes."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("watch.stages")
        self.setFixedWidth(WIDTH)
        self._rows: list[_Row] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(10)
        self._grid.setVerticalSpacing(10)
        self._grid.setColumnStretch(1, 1)

    def show_stages(self, stages: list[StartStage]) -> None:
        """Show these stages; none hides it."""
        while len(self._rows) < len(stages):
            self._rows.append(_Row(self._grid, len(self._rows)))
        for number, row in enumerate(self._rows):
            row.show_stage(stages[number] if number < len(stages) else None)
        self.setVisible(bool(stages))

    @property
    def texts(self) -> list[tuple[str, str]]:
        """Words and time of each line that is shown."""
        return [(row.words.text(), row.time.text()) for row in self._rows if row.is_shown]


class _Row:
    """The parts of one line."""

    def __init__(self, grid: QGridLayout, number: int) -> None:
        self.is_shown = False
        self.done = IconLabel("ok", "ok", 16)
        self.present = IconLabel("more", "accent", 16)
        self.words, self.time = label(""), label("", "muted")
        for picture in (self.done, self.present):
            grid.addWidget(picture, number, 0)
        grid.addWidget(self.words, number, 1)
        grid.addWidget(self.time, number, 2, Qt.AlignmentFlag.AlignRight)

    def show_stage(self, stage: StartStage | None) -> None:
        """Show a stage; None: nothing."""
        self.is_shown = stage is not None
        self.done.setVisible(stage is not None and stage.is_done)
        self.present.setVisible(stage is not None and not stage.is_done)
        for part in (self.words, self.time):
            part.setVisible(stage is not None)
        if stage is not None:
            self.words.setText(stage.words)
            self.words.setStyleSheet("" if stage.is_done else "font-weight: 600;")
            self.time.setText(wording.duration(stage.seconds))
