"""Which loop a run learns with. Both learn the same, bit for bit; what differs is speed, and what starting costs."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec

from mosaic_worker_spade.environment.world import TableWorld
from mosaic_worker_spade.errors import LoopMissing
from mosaic_worker_spade.learning.learner import Learner
from mosaic_worker_spade.learning.loop import (
    EpisodeWatch,
    LoopRecorder,
    Option,
    OptionOutcome,
    run_option,
)

PAYS_FROM = 5_000_000
"""Steps. Compiling takes two seconds of CPU, which two to three million have saved (docs/performance.md)."""
INSTALL = "./mosaic sync worker_spade --bundle numba"


class Loop(StrEnum):
    """What a person may ask for."""

    AUTO = "auto"
    LIST = "list"
    COMPILED = "compiled"


RunOption = Callable[[Learner, Option, LoopRecorder, EpisodeWatch], OptionOutcome]


@dataclass(frozen=True)
class LoopChoice:
    """The loop of a run, and why it is this one."""

    loop: Loop
    """LIST or COMPILED."""
    reason: str

    def make(self, world: TableWorld) -> RunOption:
        """The loop itself; a compiled one is compiled now."""
        if self.loop is Loop.LIST:
            return run_option
        from mosaic_worker_spade.learning.compiled import CompiledLoop

        return CompiledLoop(world)


def is_numba_installed() -> bool:
    """Whether a loop can be compiled here; nothing is imported."""
    return find_spec("numba") is not None


def choose_loop(wish: Loop, steps: int) -> LoopChoice:
    """Choose for a training of so many steps.

    Raises:
        LoopMissing: the compiled one is asked for and numba is not installed.
    """
    installed = is_numba_installed()
    if wish is Loop.COMPILED and not installed:
        raise LoopMissing(
            f"The compiled loop needs numba, which is not installed here. Run {INSTALL} and ask again, or leave "
            "the parameter `loop` out: the list loop learns the same."
        )
    if wish is not Loop.AUTO:
        return LoopChoice(wish, "asked for")
    if steps < PAYS_FROM:
        return LoopChoice(Loop.LIST, f"compiling pays from {PAYS_FROM:,} steps on")
    if not installed:
        return LoopChoice(Loop.LIST, f"numba is not installed; {INSTALL} brings a faster one")
    return LoopChoice(Loop.COMPILED, f"{steps:,} steps, and compiling pays from {PAYS_FROM:,} on")
