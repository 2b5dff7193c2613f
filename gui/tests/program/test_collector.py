"""What exists when the window stands is not looked at again."""

import subprocess
import sys

PROGRAM = """
import gc, weakref
from mosaic_gui.program.warm_up import settle_collector

class Node: pass

old = [[] for _ in range(10_000)]
settle_collector()
first = gc.get_freeze_count()
assert first >= 10_000, first
assert len(gc.get_objects()) < 1_000, len(gc.get_objects())
ring = Node(); ring.me = ring; gone = weakref.ref(ring)
del ring, old
gc.collect()
assert gone() is None
settle_collector()
assert gc.get_freeze_count() < first - 9_000, (first, gc.get_freeze_count())
"""


def test_only_what_came_later_is_collected() -> None:
    """After it a whole collection passes over what was there, still frees later rings, and it may be called again."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
