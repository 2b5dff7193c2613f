"""What can go wrong before an environment exists."""


class EnvironmentProblem(Exception):
    """An environment cannot be made or named. The text says why and what to do."""
