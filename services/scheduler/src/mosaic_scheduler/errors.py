"""What can go wrong inside the scheduler. What a user sees is made in `problem`."""


class RunTransitionInvalid(RuntimeError):
    """A transition that the state machine does not have was asked for: a fault of the scheduler."""


class PlacementFailed(RuntimeError):
    """A run's processes could not be started; the message says why and what to do."""


class WorkerUnknown(LookupError):
    """No registered worker has this id or alias."""

    def __init__(self, name: str, nearest: list[str]) -> None:
        super().__init__(name)
        self.name = name
        self.nearest = nearest


class WorkerNotReady(RuntimeError):
    """A registered worker cannot be used now; the message says why and what to do."""
