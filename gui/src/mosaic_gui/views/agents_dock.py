"""The left dock: pages, mode and agents. It folds to a strip of icons."""

from collections.abc import Callable, Sequence

from PyQt6.QtCore import QEvent, Qt, pyqtSignal
from PyQt6.QtWidgets import (
    QBoxLayout,
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from mosaic_gui.state.agents import Mode, Way
from mosaic_gui.state.command_keys import title_of
from mosaic_gui.state.language import tr
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.agents import AgentsModel
from mosaic_gui.views.agent_list import AgentList
from mosaic_gui.views.chosen_keys import keys_of_command, on_keys, tip_with_keys
from mosaic_gui.views.mode_cards import HumanOnly, ModeCards
from mosaic_gui.views.segments import Segments
from mosaic_gui.views.text import IconLabel, button, frame, label

WIDTH, FOLDED_WIDTH = 224, 52
PLAY = "play"
"""Name of the page on which a person starts to play."""


class AgentsDock(QFrame):
    """The dock with pages, mode and agents. Its signals are the user's requests."""

    page_wanted = pyqtSignal(str)
    way_wanted = pyqtSignal(Way)
    agent_wanted = pyqtSignal(tuple)
    """Worker and algorithm."""

    def __init__(
        self, model: AgentsModel, pages: Sequence[str], parent: QWidget | None = None
    ) -> None:
        """`pages`: those that have a button. The name of one is also that of its icon and its command."""
        super().__init__(parent)
        self.setProperty("kind", "rail")
        self.setObjectName("agents")
        self._model = model
        self._group = QButtonGroup(self)
        self.page_buttons: dict[str, QPushButton] = {}
        self._words: dict[QPushButton, str] = {}
        self.layout_button: QPushButton | None = None
        self.files_button: QPushButton | None = None
        self.folded = False
        """Folded by the user or a layout; a narrow window folds it too."""
        self._is_cramped = self._is_drawn_out = False
        self.fold = button("", "quiet", "agents.fold")
        self.fold.clicked.connect(self._on_fold)
        for leaves in (self.page_wanted, self.agent_wanted):
            leaves.connect(self._draw_back)
        self.tools = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self.tools.setSpacing(2)
        self._brand = label("MOSAIC", "heading")
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(10, 12, 10, 10)
        self._layout.setSpacing(3)
        self._layout.addLayout(self._head())
        self._layout.addSpacing(8)
        for name in pages:
            self._add_page(name, title_of(name))
        self._body = QWidget()
        self._layout.addWidget(self._body, 1)
        self._fill_body()
        self._gap = QWidget()
        self._layout.addWidget(self._gap, 1)
        self._layout.addLayout(self.tools)
        model.changed.connect(self.refresh)
        self.set_folded(False)
        on_keys(self, self._fold)
        self.refresh()

    def add_tool(
        self, name: str, text: str, act: Callable[[], object], command: str = ""
    ) -> QPushButton:
        """Add an icon button at the bottom; its tool tip has the keys of its command."""
        made = button("", "quiet", f"rail.{name}")
        made.setIcon(icon(name, "muted"))
        made.setToolTip(text)
        if command:
            tip_with_keys(made, text, command)
        made.setAccessibleName(text)
        made.clicked.connect(lambda: act())
        self.tools.addWidget(made)
        return made

    @property
    def shows_icons(self) -> bool:
        """Whether it is folded, by choice or in a narrow window."""
        return self.folded or (self._is_cramped and not self._is_drawn_out)

    def set_folded(self, folded: bool) -> None:
        """Show icons only, or everything where there is room."""
        self.folded = folded
        self._fold()

    def set_cramped(self, cramped: bool) -> None:
        """The window is too narrow for the panel and a page: the panel is a drawer then."""
        if cramped is not self._is_cramped:
            self._is_cramped, self._is_drawn_out = cramped, False
            self._fold()

    def _on_fold(self) -> None:
        if self.shows_icons:
            self.folded, self._is_drawn_out = False, self._is_cramped
        else:
            self.folded, self._is_drawn_out = not self._is_cramped, False
        self._fold()

    def _draw_back(self) -> None:
        """Close the drawer after a choice."""
        if self._is_drawn_out:
            self._is_drawn_out = False
            self._fold()

    def _fold(self) -> None:
        folded = self.shows_icons
        self.setFixedWidth(FOLDED_WIDTH if folded else WIDTH)
        self._body.setVisible(not folded)
        self._gap.setVisible(folded)
        way = QBoxLayout.Direction.TopToBottom if folded else QBoxLayout.Direction.LeftToRight
        self.tools.setDirection(way)
        self._brand.setVisible(not folded)
        self._picture.setVisible(not folded)
        for made, words in self._words.items():
            made.setText("" if folded else words)
        self.fold.setIcon(icon("expand" if folded else "collapse", "muted"))
        text = tr("Show the agents panel") if folded else tr("Hide the agents panel")
        self.fold.setToolTip(f"{text} ({keys_of_command('fold')})")
        self.fold.setAccessibleName(text)

    def mark_page(self, page: str) -> None:
        """Highlight the button of the present page."""
        self._group.setExclusive(False)
        for name, made in self.page_buttons.items():
            made.setChecked(name == page)
        self._group.setExclusive(True)

    def set_connected(self, on: bool) -> None:
        """Enable the pages only while a stack is connected."""
        for made in self.page_buttons.values():
            made.setEnabled(on)
        self._body.setEnabled(on)

    def refresh(self) -> None:
        """Show the present mode, agent and way."""
        model = self._model
        self.mode.setVisible(model.mode is not None)
        self.mode.set_key(model.mode.value if model.mode else "")
        # what no worker offers is no equal of the others; a mode that is chosen can be left
        kept = {*model.modes, model.mode}
        self.mode.show_keys({mode.value for mode in kept if mode is not None})
        self.way.set_key(model.way.value)
        self.way.setEnabled(model.key is not None)
        if model.mode is None:
            self._parts.setCurrentWidget(self.cards)
        elif model.mode is Mode.HUMAN:
            self._parts.setCurrentWidget(self.human)
        else:
            self._parts.setCurrentWidget(self._agents)
        self._alone.setVisible(model.mode is Mode.HYBRID and not model.offered)

    def event(self, event: QEvent | None) -> bool:
        done = super().event(event)
        if event is not None and event.type() is QEvent.Type.LayoutRequest and not self.shows_icons:
            # as wide as always, unless the language needs more for the choices in it
            edge = self.width() - self.contentsRect().width()
            self.setFixedWidth(max(WIDTH, self._layout.minimumSize().width() + edge))
        return done

    def _head(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setContentsMargins(4, 0, 0, 0)
        row.setSpacing(8)
        self._picture = IconLabel("mosaic", "accent", 22)
        row.addWidget(self._picture)
        row.addWidget(self._brand, 1, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self.fold)
        return row

    def _add_page(self, name: str, title: str) -> None:
        made = self._nav(name, title, f"nav.{name}")
        tip_with_keys(made, title, name)
        made.setCheckable(True)
        made.setIcon(icon(name, "muted", "accent"))
        made.clicked.connect(lambda: self.page_wanted.emit(name))
        self._group.addButton(made)
        self.page_buttons[name] = made
        self._layout.addWidget(made)

    def _nav(self, name: str, text: str, object_name: str) -> QPushButton:
        made = button(text, "nav", object_name)
        made.setIcon(icon(name, "muted"))
        made.setToolTip(text)
        made.setAccessibleName(text)
        self._words[made] = text
        return made

    def _fill_body(self) -> None:
        self.mode = Segments(
            {
                Mode.HUMAN.value: tr("Human"),
                Mode.HYBRID.value: tr("Hybrid"),
                Mode.AGENT.value: tr("Agent"),
            },
            "agents.mode",
            fills=True,
        )
        self.mode.chosen.connect(self._on_mode)
        self.cards = ModeCards(self._model)
        self.cards.chosen.connect(self._on_mode)
        self.human = HumanOnly(self._model)
        self.human.play_wanted.connect(lambda: self.page_wanted.emit(PLAY))
        self._agents = self._make_agents()
        self._parts = QStackedWidget()
        layout = QVBoxLayout(self._body)
        layout.setContentsMargins(0, 10, 0, 8)
        layout.setSpacing(8)
        layout.addWidget(frame("rule"))
        layout.addWidget(self.mode)
        layout.addWidget(self._parts, 1)
        for part in (self.cards, self.human, self._agents):
            self._parts.addWidget(part)

    def _on_mode(self, key: str) -> None:
        """Choose a mode; what a person plays is chosen on the page `Play`."""
        self._model.set_mode(Mode(key))
        if self._model.mode is Mode.HUMAN and self.human.is_ready:
            self.page_wanted.emit(PLAY)

    def _make_agents(self) -> QWidget:
        self.way = Segments(
            {Way.NEW.value: tr("Train new"), Way.TRAINED.value: tr("Use trained")},
            "agents.way",
            fills=True,
        )
        self.way.chosen.connect(lambda key: self.way_wanted.emit(Way(key)))
        self._alone = label(
            tr(
                "No worker here offers hybrid play yet; one that lists it in its modes appears here. "
                "Agents can be trained meanwhile."
            ),
            "small",
            wraps=True,
        )
        self.agents = AgentList(self._model)
        self.agents.chosen.connect(self.agent_wanted)
        made = QWidget()
        layout = QVBoxLayout(made)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self.way)
        layout.addWidget(self._alone)
        layout.addWidget(self.agents, 1)
        return made
