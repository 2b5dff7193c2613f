"""What time it is by the stack's clock, which may differ from that of this machine."""

import time
from datetime import datetime, timedelta

from mosaic_client.answer import HttpAnswer
from mosaic_contracts.compat import UTC

_TRUSTED_S = 2.0
"""A date in an answer counts whole seconds, and the answer was under way: less than this is no difference."""


class StackClock:
    """Estimates the stack's clock from the date of its answers (RFC 9110, Date). Until the first answer, this
    machine's clock is used."""

    def __init__(self) -> None:
        self._date: str | None = None
        self._noted_s = 0.0

    def note(self, answer: HttpAnswer) -> None:
        """Remember the date of an answer."""
        self._date = answer.headers.get("date")
        self._noted_s = time.monotonic()

    def now(self) -> datetime:
        """Return the current time of the stack."""
        here = datetime.now(UTC)
        there = self._told()
        if there is None or abs((there - here).total_seconds()) < _TRUSTED_S:
            return here
        return there

    def _told(self) -> datetime | None:
        if self._date is None:
            return None
        from email.utils import parsedate_to_datetime  # slow to import

        try:
            date = parsedate_to_datetime(self._date)
        except ValueError:
            return None
        if date.tzinfo is None:  # "-0000": no zone is named, and HTTP knows only one
            date = date.replace(tzinfo=UTC)
        return date + timedelta(seconds=time.monotonic() - self._noted_s)
