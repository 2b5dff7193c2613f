"""Waits until a TensorBoard answers: what the sync and the async client share. No I/O here."""

import time
from collections.abc import Callable

from mosaic_client.errors import WaitTimedOut
from mosaic_contracts.runs import DashboardEntry, RunView

DashboardProgress = Callable[[RunView], None]
"""Called with the run that serves TensorBoard, while it starts."""
DASHBOARD_TIMEOUT_S = 150.0
"""Seconds to wait for a TensorBoard: the stack ends one that has not answered after two minutes."""
_ONE_WAIT_S = 5.0


class DashboardWait:
    """Waits for one dashboard over repeated requests.

    Args:
        entry: the answer of `open_tensorboard`.
        timeout_s: most seconds to wait.
        progress: called with the run that serves it.
    """

    def __init__(
        self, entry: DashboardEntry, timeout_s: float, progress: DashboardProgress | None
    ) -> None:
        self._ends_at = time.monotonic() + timeout_s
        self._progress = progress or (lambda _: None)
        self.run_id = entry.run.run_id
        self._entry = entry
        self._progress(entry.run)

    def is_over(self) -> bool:
        """Whether it answers.

        Raises:
            WaitTimedOut: it does not, and the time is over.
        """
        if self._entry.is_ready:
            return True
        if time.monotonic() >= self._ends_at:
            raise WaitTimedOut(
                f"TensorBoard did not answer in time; its run {self.run_id} is {self._entry.run.state}. "
                f"`./mosaic logs {self.run_id}` shows what it printed."
            )
        return False

    def next_s(self) -> float:
        """Seconds that the next request may wait."""
        return max(0.0, min(_ONE_WAIT_S, self._ends_at - time.monotonic()))

    def take(self, entry: DashboardEntry) -> None:
        """Read one answer."""
        self._entry = entry
        self._progress(entry.run)

    def opened(self, address: str) -> DashboardEntry:
        """The dashboard with its whole address."""
        return self._entry.model_copy(update={"url": address + self._entry.url})
