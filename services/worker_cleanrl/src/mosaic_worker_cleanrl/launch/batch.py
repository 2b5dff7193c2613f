"""The steps of one step of a vector environment, written together when it returns."""

from collections.abc import Callable

from mosaic_workerkit.telemetry import PlainStep, Telemetry


class StepBatch:
    """Steps that are not written yet.

    They wait no longer than until the vector environment's step returns to the script, or one of its episodes ends:
    what the script has seen is always durable. A step of an environment outside of that is written at once.
    """

    __slots__ = ("_has_observations", "_steps", "_telemetry", "add", "is_open")

    def __init__(self, telemetry: Telemetry, *, has_observations: bool) -> None:
        self._telemetry = telemetry
        self._has_observations = has_observations
        self._steps: list[PlainStep] = []
        self.add: Callable[[PlainStep], None] = self._steps.append
        self.is_open = False
        """Whether a vector environment is being stepped."""

    def write(self) -> None:
        """Write what waits."""
        if self._steps:
            steps = self._steps.copy()
            self._steps.clear()  # before, so that an error in writing them does not write them twice
            self._telemetry.plain_steps(steps, has_observations=self._has_observations)
