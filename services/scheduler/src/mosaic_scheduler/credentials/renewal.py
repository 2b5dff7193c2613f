"""A run's broker credentials while it lives: renewed by time, and as soon as its shipper says that they are refused."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mosaic_contracts import launch
from mosaic_contracts.launch import UNTRUSTED, ShipperState
from mosaic_scheduler.executors.protocol import AttemptRef
from mosaic_scheduler.executors.run_folder import RunFolder
from mosaic_servicekit.broker_clock import BrokerClock, clock_text, explains_refusal
from mosaic_servicekit.credentials import RENEW_AFTER_S, RUN_LIFETIME_S, RunSigner
from mosaic_servicekit.logging import get_log

RETRY_S = (5.0, 15.0, 60.0)
"""Between renewals of credentials that stay refused: then it is not they that are wrong."""
_STUBBORN = 2
"""After this many renewals in vain the run's note says that renewals do not help."""


@dataclass
class _Kept:
    """What is remembered of one attempt's credentials."""

    attempt: int
    written_at: float
    """Monotonic."""
    expires_at: float
    """Wall clock, as the broker reads it: a machine that slept has aged only there."""
    renewals: int = 0
    """Since they are refused."""


class CredentialRenewal:
    """Keeps the credentials of runs that live good. Without a signer (a broker without accounts) it does nothing."""

    def __init__(
        self,
        signer: RunSigner | None,
        folder: Callable[[AttemptRef], Path],
        broker_clock: BrokerClock,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._signer = signer
        self._folder = folder
        self._broker_clock = broker_clock
        self._now = now
        self._kept: dict[str, _Kept] = {}

    def renew(self, ref: AttemptRef, lifetime_s: float = RUN_LIFETIME_S) -> None:
        """Write new ones. Raises OSError when the folder cannot be written."""
        if self._signer is not None:
            path = self._folder(ref) / launch.CREDS_FILE
            if path.parent.exists():
                self._signer.write_creds(ref.run_id, path, lifetime_s)

    def look(self, ref: AttemptRef) -> str | None:
        """Renew what is due or refused; what the run shall say of it. To be called every second or so."""
        if self._signer is None:
            return None
        kept = self._kept.get(ref.run_id)
        if kept is None or kept.attempt != ref.attempt:
            # Written when it was launched, or adopted just now.
            kept = self._kept[ref.run_id] = self._fresh(ref)
        refusal = self.refusal(ref)
        if refusal is None:
            kept.renewals = 0
        if self._is_due(kept, refusal):
            self._renew_kept(ref, kept, refusal)
        if refusal is None:
            return None
        return _refusal_words(refusal, kept.renewals, self._broker_clock.ahead_s)

    def refusal(self, ref: AttemptRef) -> ShipperState | None:
        """What the shipper says of a broker that refuses it."""
        return RunFolder(self._folder(ref), ref).shipper_state()

    def refusal_note(self, ref: AttemptRef) -> str | None:
        """What the run says of credentials that were renewed just now and that the broker still refuses."""
        refusal = self.refusal(ref)
        if refusal is None:
            return None
        return _refusal_words(refusal, _STUBBORN, self._broker_clock.ahead_s)

    def keep_only(self, run_ids: set[str]) -> None:
        """Forget the runs that have ended."""
        self._kept = {run_id: kept for run_id, kept in self._kept.items() if run_id in run_ids}

    def _fresh(self, ref: AttemptRef) -> _Kept:
        return _Kept(ref.attempt, self._now(), time.time() + RUN_LIFETIME_S)

    def _is_due(self, kept: _Kept, refusal: ShipperState | None) -> bool:
        age_s = self._now() - kept.written_at
        if refusal is None:
            left_s = kept.expires_at - time.time()
            return age_s > RENEW_AFTER_S or left_s < RUN_LIFETIME_S - RENEW_AFTER_S
        return kept.renewals == 0 or age_s > RETRY_S[min(kept.renewals, len(RETRY_S)) - 1]

    def _renew_kept(self, ref: AttemptRef, kept: _Kept, refusal: ShipperState | None) -> None:
        kept.written_at = self._now()
        if refusal is not None:
            kept.renewals += 1
            get_log().warning(
                "credentials.refused",
                run_id=ref.run_id,
                said=refusal.refused,
                renewal=kept.renewals,
            )
        try:
            self.renew(ref)
            kept.expires_at = time.time() + RUN_LIFETIME_S
        except OSError as error:
            # A full disk, or a folder that its worker deleted: the old ones may hold, and the next time comes.
            get_log().warning("credentials.not_renewed", run_id=ref.run_id, error=str(error))


def _refusal_words(refusal: ShipperState, renewals: int, ahead_s: float | None) -> str:
    """In words, for the run's notes. `ahead_s`: how far the broker's clock is ahead of ours."""
    if refusal.refused.startswith(UNTRUSTED):
        return (
            f"this run does not trust the broker ({refusal.refused.removeprefix(UNTRUSTED)}): nothing was sent, and "
            "what it records waits in its outbox. Start the stack again with the data folder and the "
            "MOSAIC_BROKER_BIND that it had"
        )
    said = f"the broker refuses this run's credentials ({refusal.refused})"
    kept = "what it records waits in its outbox"
    if explains_refusal(ahead_s):
        return f"{said}; {kept}. {clock_text(ahead_s)}"
    if renewals < _STUBBORN:
        return f"{said}; they are being renewed, and {kept}"
    return f"{said}, new ones too: start the stack again, which gives the broker this stack's keys; {kept}"
