"""Figures of a run that are made of two sources, in one place for all forms in which a client holds a run."""

from typing import Protocol


class _Progress(Protocol):
    @property
    def step(self) -> int: ...
    @property
    def total(self) -> int | None: ...


class _Summary(Protocol):
    @property
    def global_step(self) -> int: ...


def steps_done(progress: _Progress | None, summary: _Summary | None) -> int:
    """Count the environment steps that a run has done.

    Args:
        progress: what the trainer reported; None: nothing.
        summary: what the store has; None: nothing.

    Returns:
        The higher of both numbers.
    """
    return max(progress.step if progress else 0, summary.global_step if summary else 0)


def steps_in_all(progress: _Progress | None, asked: int | None) -> int | None:
    """Find how many environment steps a run will do.

    Args:
        progress: what the trainer reported; None: nothing.
        asked: steps of the spec; None: not given.

    Returns:
        The trainer's number, else the spec's; None: unknown.
    """
    return (progress.total if progress else None) or asked
