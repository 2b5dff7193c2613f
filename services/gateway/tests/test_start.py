"""What the gateway does not import, so that a stack starts quickly."""

import subprocess
import sys

SELDOM = ("httpx._client", "nats.js.api", "numpy.linalg", "pydantic.v1")


def test_a_gateway_loads_what_few_stacks_need_on_use() -> None:
    """HTTP to workers, JetStream, the arithmetic of curves: a sixth of a start's CPU time."""
    look = (
        "import sys, mosaic_gateway.__main__\n"
        f"print([name for name in {SELDOM!r} if name in sys.modules])"
    )
    made = subprocess.run(
        [sys.executable, "-I", "-c", look], capture_output=True, text=True, check=True
    )
    assert made.stdout.strip() == "[]"
