"""The page `Sweeps`: the list on the left, the chosen sweep with its charts and trials on the right."""

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtWidgets import QFrame, QHBoxLayout, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.sweep_form import SweepFormModel
from mosaic_gui.viewmodels.sweeps import SweepsModel
from mosaic_gui.views.bases import VisibilityFrame
from mosaic_gui.views.command import named_shortcut
from mosaic_gui.views.sweep_form import SweepForm
from mosaic_gui.views.sweep_head import SweepHead
from mosaic_gui.views.sweep_list import SweepListView
from mosaic_gui.views.sweep_plots import SweepPlots
from mosaic_gui.views.text import button, frame, label
from mosaic_gui.views.trial_table import TrialPanel

LIST_WIDTH, EMPTY_WIDTH = 250, 520
SHARES = (560, 440)
"""Heights of charts and table at the beginning, in relation to each other."""


class SweepsPage(VisibilityFrame):
    """The page. It sends no requests."""

    new_wanted = pyqtSignal()
    """A sweep is to be started."""
    said = pyqtSignal(str)

    def __init__(self, model: SweepsModel, form: SweepFormModel) -> None:
        super().__init__()
        self.setObjectName("page.sweeps")
        self._model, self._form_model = model, form
        self.form = SweepForm(form)
        self._shows_form = False
        self._title, self._count = label("", "title"), label("", "muted")
        self.new = button(tr("New sweep"), "primary", "sweeps.new")
        self.new.setIcon(icon("train", "on_accent"))
        self.list = SweepListView(model)
        self.head = SweepHead(model)
        self.plots = SweepPlots(model)
        self.trials = TrialPanel(model)
        self._stack, self._detail = QStackedWidget(), QStackedWidget()
        self._words = label("", "muted", wraps=True)
        self._arrange()
        self._filled, self._empty = self._make_filled(), self._make_empty()
        for part in (self._empty, self.form):
            self._stack.addWidget(part)
        self._connect()
        self.refresh()

    def refresh(self) -> None:
        """Show the list, or how to begin; and the chosen sweep, or why it is not there."""
        model = self._model
        count = len(model.list.rows)
        shown = self._filled if count else self._empty
        self._stack.setCurrentWidget(self.form if self._shows_form else shown)
        self._title.setText(tr("New sweep") if self._shows_form else tr("Sweeps"))
        self._count.setText(tr_n("{n} sweep", "{n} sweeps", count))
        self._count.setVisible(count > 0 and not self._shows_form)
        self.new.setVisible(count > 0 and not self._shows_form)
        is_there = model.spec is not None
        self._detail.setCurrentWidget(self._chosen if is_there else self._other)
        if model.problem:
            self._words.setText(tr("The sweep could not be read. {why}", why=model.problem))
        elif not is_there:
            self._words.setText(
                tr("Reading the sweep …") if model.chosen else tr("Choose a sweep.")
            )
        self._again.setVisible(bool(model.problem))

    def show_form(self, shown: bool) -> None:
        """Show the form of a new sweep, or the sweeps."""
        self._shows_form = shown
        self.refresh()

    def start_search(self) -> None:
        """Put the cursor into the search of the parameters or trials."""
        field = self.form.search if self._shows_form else self.trials.search
        field.setFocus()
        field.selectAll()

    def _connect(self) -> None:
        model = self._model
        self.shown.connect(model.set_shown)
        self._form_model.opened.connect(lambda: self.show_form(True))
        self._form_model.closed.connect(lambda: self.show_form(False))
        model.opened.connect(lambda: self.show_form(False))
        model.list_changed.connect(self.refresh)
        model.facts_changed.connect(self.refresh)
        self.list.row_chosen.connect(model.choose)
        self.new.clicked.connect(self.new_wanted)
        self.first.clicked.connect(self.new_wanted)
        self._again.clicked.connect(model.wanted)
        self.head.said.connect(self.said)
        self.head.copy_wanted.connect(self._copy)
        self.trials.table.opened.connect(model.open_runs)
        self.plots.trial_opened.connect(lambda number: model.open_runs([number]))
        named_shortcut(self, "/", tr("Search trials"), self.start_search)
        for keys, text in (("Return", tr("Watch the runs of the trial")), ("Enter", "")):
            named_shortcut(self._filled, keys, text, self.trials.table.open)

    def _copy(self) -> None:
        """Fill the form from the chosen sweep."""
        spec = self._model.spec
        if spec is None:
            return
        words = self._form_model.load(spec.model_dump(mode="json", exclude_unset=True))
        if words:
            self.said.emit(words)
        if self._form_model.draft is not None:
            self._form_model.open()

    def _make_chosen(self) -> QWidget:
        lower = frame("panel")
        inside = QVBoxLayout(lower)
        inside.setContentsMargins(1, 1, 1, 1)
        inside.addWidget(self.trials)
        split = QSplitter(Qt.Orientation.Vertical)
        split.setObjectName("sweeps.split")
        split.setChildrenCollapsible(False)
        split.setHandleWidth(10)
        made = QWidget()
        self._detail.addWidget(made)
        column = QVBoxLayout(made)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(10)
        column.addWidget(self.head)
        column.addWidget(split, 1)
        split.addWidget(self.plots)
        split.addWidget(lower)
        split.setStretchFactor(0, 1)
        split.setStretchFactor(1, 1)
        split.setSizes([SHARES[0], SHARES[1]])
        return made

    def _make_filled(self) -> QWidget:
        panel = frame("panel")
        panel.setFixedWidth(LIST_WIDTH)
        inside = QVBoxLayout(panel)
        inside.setContentsMargins(1, 1, 1, 1)
        inside.addWidget(self.list)
        self._other = frame("panel")
        other = QVBoxLayout(self._other)
        self._words.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._again = button(tr("Try again"), "", "sweeps.again")
        other.addStretch(2)
        other.addWidget(self._words)
        other.addWidget(self._again, 0, Qt.AlignmentFlag.AlignHCenter)
        other.addStretch(3)
        made = QWidget()
        self._stack.addWidget(made)
        columns = QHBoxLayout(made)
        columns.setContentsMargins(0, 0, 0, 0)
        columns.setSpacing(12)
        columns.addWidget(panel)
        columns.addWidget(self._detail, 1)
        self._chosen = self._make_chosen()
        self._detail.addWidget(self._other)
        return made

    def _make_empty(self) -> QFrame:
        """Say how to begin."""
        panel = frame("panel")
        layout = QVBoxLayout(panel)
        words = label(
            tr(
                "A sweep trains an algorithm many times with other parameters, and searches the best ones. "
                "Choose an algorithm, say which parameters vary, and start it here, or with "
                "./mosaic sweep in a terminal."
            ),
            "muted",
            wraps=True,
        )
        words.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        words.setFixedWidth(EMPTY_WIDTH)
        self.first = button(tr("Start a sweep"), "primary", "sweeps.first")
        layout.addStretch(2)
        for part in (label(tr("No sweep yet"), "hero"), words):
            layout.addWidget(part, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addSpacing(10)
        layout.addWidget(self.first, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(3)
        return panel

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(10)
        head.addWidget(self._title)
        head.addWidget(self._count)
        head.addStretch(1)
        head.addWidget(self.new)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 16, 20, 16)
        layout.setSpacing(12)
        layout.addLayout(head)
        layout.addWidget(self._stack, 1)
