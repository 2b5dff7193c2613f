"""A worker whose wall clock is wrong: the machine's own clock is everybody's, so it is the worker's that differs.

`time.time` and `time.time_ns` of its process are behind by BACK seconds, an expression.
"""

OFF_S = 600
PROGRAM = """
import sys
import time

HOUR_S = 3600
wall, wall_ns, began = time.time, time.time_ns, time.monotonic()


def back():
    return BACK


time.time = lambda: wall() - back()
time.time_ns = lambda: wall_ns() - back() * 10**9

from mosaic_workerkit.entry import main
from mosaic_workerkit.testing.synthetic import SyntheticWorker

code = main(SyntheticWorker())
if sys.argv[1] == "train":
    print("the clock went back by", back(), "s")
sys.exit(code)
"""


def program(back: str) -> str:
    """Source of the synthetic worker with a clock that is `back` seconds behind."""
    return PROGRAM.replace("BACK", back)
