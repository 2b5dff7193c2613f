"""Credentials that the broker refuses: how that differs from its absence, and the message left for the scheduler."""

import time
from pathlib import Path

from mosaic_base.atomic import replace_file
from mosaic_contracts.launch import SHIPPER_STATE_FILE, ShipperState
from mosaic_workerkit.shipper.log import log_event

_REFUSALS = ("authorization", "authentication", "permissions violation")
_ANSWER = 'publish to "_inbox'
"""An answer that came too late may not be published any more; that says nothing of the credentials."""
_MAX_CHARS = 300


def refusal_of(error: object) -> str | None:
    """Return the broker's words if it refused the credentials. Subjects are left out, because they differ each
    time."""
    text = str(error).removeprefix("nats: ").strip("'").lower()
    if _ANSWER in text or not any(word in text for word in _REFUSALS):
        return None
    return text.partition(' to "')[0][:_MAX_CHARS]


class RefusalFile:
    """Writes `control/shipper_state.json`, because a refused shipper cannot report over the broker."""

    def __init__(self, run_dir: Path, attempt: int) -> None:
        self._path = run_dir / SHIPPER_STATE_FILE
        self._attempt = attempt
        self._written: str | None = None

    def write(self, refused: str) -> None:
        """Write it, once a cause. A disk without room must not stop the publishing."""
        if refused == self._written:
            return
        state = ShipperState(attempt=self._attempt, refused=refused, since=time.time())
        try:
            replace_file(self._path, state.model_dump_json())
            self._written = refused
        except OSError as error:
            log_event("refusal.not_written", error=str(error))

    def remove(self) -> None:
        """Remove the file, because the credentials are accepted."""
        try:
            self._path.unlink(missing_ok=True)
            self._written = None
        except OSError as error:
            log_event("refusal.not_taken_back", error=str(error))
