"""Memory: Python's garbage collector, which works on the thread that paints, and what is given back."""

import ctypes
import gc

_YOUNGEST = 10_000
"""Allocations before a look at the youngest objects; a tick under load makes some thousands that die at once."""


def give_back() -> None:
    """Hand memory that was let go back to the system: the allocator keeps it for this program otherwise."""
    gc.collect()
    trim = getattr(
        ctypes.CDLL(None), "malloc_trim", None
    )  # the GNU C library has it, others do not
    if trim is not None:
        trim(0)


def settle_collector() -> None:
    """Leave what exists now (modules, widgets, models) out of all later collections.

    A whole collection of the idle client looks at 70,000 objects and holds the thread for 45 ms, a frame and a half at
    30 a second; afterwards only what came since is looked at.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNGEST, 20, 20)
