"""The machine behind the stack for the strips that show it."""

import time
from collections.abc import Callable

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.machine import MachineHistory
from mosaic_contracts.runs import RunView
from mosaic_gui.state import wording
from mosaic_gui.state.hardware import MachineLog, Meter
from mosaic_gui.state.language import tr


class HardwareModel(QObject):
    """The newest figures of the machine, and whether they are current."""

    changed = pyqtSignal()

    def __init__(
        self, parent: QObject | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(parent)
        self._now = now
        self._log = MachineLog()
        self._was_old = False

    def take(self, history: MachineHistory) -> None:
        """Take samples of the machine."""
        self._log.take(history, self._now())
        self._was_old = bool(self.age_words)
        self.changed.emit()

    def clear(self) -> None:
        """Forget all samples, e.g. for another stack."""
        self._log.clear()
        self.changed.emit()

    def pass_time(self) -> None:
        """Update what depends on the age of the samples."""
        if self.age_words or self._was_old:
            self._was_old = bool(self.age_words)
            self.changed.emit()

    @property
    def age_words(self) -> str:
        """Age of the samples in words where they are old; else empty."""
        now = self._now()
        if not self._log.is_old(now):
            return ""
        return tr("{age} old", age=wording.duration(self._log.age_s(now)))

    @property
    def host(self) -> list[Meter]:
        """Figures of the whole machine."""
        return self._log.host()

    def of_run(self, run: RunView | None) -> list[Meter]:
        """Figures of a run's processes; empty where it has none."""
        return self._log.of_run(run) if run is not None else []
