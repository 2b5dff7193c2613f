"""Counts the episodes and steps of a program that does not number them itself."""

import time
from collections import Counter

from mosaic_contracts.wire import INTEGER_LIMIT
from mosaic_workerkit.telemetry import Telemetry


class Episodes:
    """Tracks the current episode of each sub-environment, and the run's environment steps."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._is_recorded = telemetry.spec.record.has_episodes
        self._numbers: Counter[int] = Counter()
        self._steps: Counter[int] = Counter()
        self._began_at: dict[int, float] = {}
        self.global_step = 0
        """The environment step that the program named last."""

    def enter(self, env: int, episode: int | None) -> int:
        """Return the number of the episode that `env` is in; None: the program does not number them."""
        number = self._numbers[env]
        if episode is not None and episode != number:
            self._steps[env] = 0
            self._numbers[env] = number = episode
        if env not in self._began_at:
            self._began_at[env] = time.monotonic()
        return number

    def next_step(self, env: int, step: int | None) -> int:
        """Return the number of the next step in the episode of `env`; None: the program does not number them."""
        number = min(self._steps[env] + 1, INTEGER_LIMIT - 1) if step is None else step
        self._steps[env] = number
        return number

    def end(
        self,
        env: int,
        episode: int | None,
        length: int,
        episode_return: float,
        duration_s: float | None,
        *,
        terminated: bool = False,
        truncated: bool = False,
    ) -> None:
        """Write an episode's end. Length 0: as many steps as were counted."""
        number = self._numbers[env] if episode is None else episode
        now = time.monotonic()
        if self._is_recorded:
            if duration_s is None:
                duration_s = now - self._began_at.get(env, now)
            if not length and number == self._numbers[env]:
                length = self._steps[env]
            self._telemetry.episode(
                *(env, number, length, episode_return),
                duration_s=duration_s,
                global_step=self.global_step,
                terminated=terminated,
                truncated=truncated,
            )
        self._numbers[env] = min(number + 1, INTEGER_LIMIT - 1)
        self._steps[env] = 0
        self._began_at[env] = now
