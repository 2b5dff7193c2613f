"""A run's action and observation spaces, learnt from its config events, and events made plain by them."""

from collections.abc import Mapping
from typing import Any

from mosaic_contracts.builtin_values import event_to_builtin


class Spaces:
    """Spaces of all attempts of one run."""

    def __init__(self) -> None:
        self._of_attempt: dict[int, Mapping[str, Any]] = {}

    def learn(self, attempt: int, config: Mapping[str, Any]) -> None:
        """Take the spaces of a config event's data."""
        spaces = config.get("spaces")
        if isinstance(spaces, Mapping):
            self._of_attempt[attempt] = spaces

    def plain(self, event: dict[str, Any]) -> dict[str, Any]:
        """The event without raw bytes."""
        return event_to_builtin(event, self._of_attempt.get(event["attempt"]))
