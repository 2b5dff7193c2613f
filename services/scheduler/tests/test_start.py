"""What the scheduler does not import, so that a stack starts quickly."""

import subprocess
import sys

SELDOM = ("requests.sessions", "urllib3", "ruamel.yaml.main", "docker")


def test_a_scheduler_loads_what_few_stacks_need_on_use() -> None:
    """HTTP for alerts that are sent, YAML for storage profiles, the engine's client for containers."""
    look = (
        "import sys, mosaic_scheduler.__main__\n"
        f"print([name for name in {SELDOM!r} if name in sys.modules])"
    )
    made = subprocess.run(
        [sys.executable, "-I", "-c", look], capture_output=True, text=True, check=True
    )
    assert made.stdout.strip() == "[]"
