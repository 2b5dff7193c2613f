"""Requests of the stage: the steps of a run that is played, while somebody looks at it."""

from PyQt6.QtCore import QObject

from mosaic_gui.controllers.base import Controller
from mosaic_gui.state.store import Changes
from mosaic_gui.viewmodels.stage import StageModel
from mosaic_gui.viewmodels.watch import WatchModel


class StageController(Controller):
    """Subscribes to the steps of one run, and to none while the stage is hidden."""

    def __init__(self, model: StageModel, watch: WatchModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model, self._watch = model, watch
        self._shown = False
        self._asked = ""
        watch.run_replaced.connect(self._ask)

    def show(self, shown: bool) -> None:
        """Note whether the stage is visible."""
        self._shown = shown
        self._ask()

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick."""
        self._model.consume(changes)
        self._ask()

    def detach(self) -> None:
        """Stop all requests; the session closes after this."""
        super().detach()
        self._asked = ""

    def _ask(self) -> None:
        if self.session is None:
            return
        run_id, model = self._watch.run_id, self._model
        goes_on = self._asked == run_id and model.may_send_steps
        wanted = run_id if self._shown and (model.wants_steps or goes_on) else ""
        if wanted == self._asked:
            return
        stream = self.session.stream
        if self._asked:
            stream.want_steps(self._asked, False)
        if wanted:
            stream.want_steps(wanted, True)
        self._asked = wanted
