"""Errors of the pipe. Every message says what to do next."""


class ProgramFileInvalid(ValueError):
    """A program.toml cannot be used."""


class ProgramRefused(ValueError):
    """A run's spec does not fit the program; `check` says the same before a run is started."""


class ProgramNotStarted(RuntimeError):
    """The program cannot be executed."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        """127 not found, 126 found and not executable, as shells have it."""


class LineRefused(ValueError):
    """A line looks like an event and is not valid. It is counted, and reported by a log event.

    Args:
        reason: one word with underscores; refusals are counted by it.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
