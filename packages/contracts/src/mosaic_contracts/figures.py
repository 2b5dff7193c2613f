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
    """Environment steps done: as the trainer reported, or as the store has, whichever is more."""
    return max(progress.step if progress else 0, summary.global_step if summary else 0)


def steps_in_all(progress: _Progress | None, asked: int | None) -> int | None:
    """How many steps there will be, as the trainer reported or else as the spec asks; None where neither says."""
    return (progress.total if progress else None) or asked
