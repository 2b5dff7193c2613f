"""The stage's question to the stack: the steps of a run that is played, while somebody looks at it."""

from PyQt6.QtCore import QObject

from mosaic_gui.app.session import Session
from mosaic_gui.state.store import Changes
from mosaic_gui.viewmodels.stage import StageModel
from mosaic_gui.viewmodels.watch import WatchModel


class Staging(QObject):
    """Has the steps of one run told, and of none where the stage is out of sight."""

    def __init__(self, model: StageModel, watch: WatchModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model, self._watch = model, watch
        self.session: Session | None = None
        self._shown = False
        self._asked = ""
        watch.run_replaced.connect(self._ask)

    def show(self, shown: bool) -> None:
        """The stage came into sight, or went."""
        self._shown = shown
        self._ask()

    def consume(self, changes: Changes) -> None:
        """Take a tick's changes."""
        self._model.consume(changes)
        self._ask()

    def stop(self) -> None:
        """Ask nothing more."""
        self._asked, self.session = "", None

    def _ask(self) -> None:
        if self.session is None:
            return
        run_id, model = self._watch.run_id, self._model
        goes_on = self._asked == run_id and model.is_told
        wanted = run_id if self._shown and (model.wants_steps or goes_on) else ""
        if wanted == self._asked:
            return
        stream = self.session.stream
        if self._asked:
            stream.want_steps(self._asked, False)
        if wanted:
            stream.want_steps(wanted, True)
        self._asked = wanted
