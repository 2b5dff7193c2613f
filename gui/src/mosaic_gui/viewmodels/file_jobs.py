"""The archive, import, backup or report that is under way, and what became of the last one."""

from collections.abc import Callable

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.compat import StrEnum


class JobState(StrEnum):
    """Where the newest job stands."""

    NONE = "none"
    """There was none, or its result was closed."""
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class FileJobModel(QObject):
    """At most one job at a time. Its result stays until it is closed or the next job begins."""

    changed = pyqtSignal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.state = JobState.NONE
        self.words = ""
        self.share: float | None = None
        """Progress of the present phase, 0 to 1; None: unknown."""
        self.act = ""
        """Label of the button next to a result; empty: it has none."""
        self._then: Callable[[], None] | None = None

    @property
    def is_running(self) -> bool:
        """Whether a job is under way."""
        return self.state is JobState.RUNNING

    def take_progress(self, words: str, share: float | None) -> None:
        """Note how far the job is."""
        self._set(JobState.RUNNING, words, share)

    def take_result(
        self, words: str, act: str = "", then: Callable[[], None] | None = None
    ) -> None:
        """Note that the job has succeeded."""
        self._set(JobState.DONE, words, None, act, then)

    def take_problem(
        self, words: str, act: str = "", then: Callable[[], None] | None = None
    ) -> None:
        """Note why the job could not be done."""
        self._set(JobState.FAILED, words, None, act, then)

    def close(self) -> None:
        """Forget a result."""
        if not self.is_running:
            self._set(JobState.NONE, "", None)

    def do(self) -> None:
        """Do what the button next to the result says."""
        if self._then is not None:
            self._then()

    def _set(
        self,
        state: JobState,
        words: str,
        share: float | None,
        act: str = "",
        then: Callable[[], None] | None = None,
    ) -> None:
        self.state, self.words, self.share = state, words, share
        self.act, self._then = act, then
        self.changed.emit()
