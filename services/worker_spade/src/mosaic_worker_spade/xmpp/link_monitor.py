"""Says that a run is degraded while an agent has lost the server, and that it no longer is."""

import time
from collections.abc import Callable

from mosaic_workerkit.telemetry import Telemetry

SESSION = "xmpp.session"
NOTE = "xmpp"


class LinkMonitor:
    """Monitors the links of a run.

    Args:
        steps: of the run so far.
    """

    def __init__(self, telemetry: Telemetry, steps: Callable[[], int]) -> None:
        self._telemetry = telemetry
        self._steps = steps
        self._lost_at: dict[str, float] = {}

    def changed(self, agent: str, state: str) -> None:
        """An agent's link was `lost`, `resumed` or `restarted`."""
        data: dict[str, object] = {"agent": agent, "state": state, "step": self._steps()}
        if state == "lost":
            self._lost_at[agent] = time.monotonic()
            words = "learning goes on, messages wait"
        else:
            data["away_s"] = round(time.monotonic() - self._lost_at.pop(agent, time.monotonic()), 3)
            words = f"after {data['away_s']} s"
        self._telemetry.extra(SESSION, data)
        level = "warning" if state == "lost" else "info"
        self._telemetry.log(level, f"XMPP {state} for the agent {agent}: {words}", data)
        lost = ", ".join(sorted(self._lost_at))
        self._telemetry.note(
            NOTE,
            f"degraded: {lost} lost the XMPP server; learning goes on, messages wait"
            if lost
            else None,
        )
