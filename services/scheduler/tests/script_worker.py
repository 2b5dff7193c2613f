"""Workers of a few lines, for what the synthetic one does not do."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.stack import Stack

_DESCRIPTION: dict[str, Any] = {
    "version": "1",
    "title": "Script",
    "record_levels": ["replay", "metrics"],
    "algorithms": [{"id": "a", "title": "A", "parameters": {}}],
    "environments": [],
}
SPEC = {"algorithm": "a", "environment": "E-v0", "record": "replay"}


def script_worker(
    stack: Stack,
    name: str,
    check: dict[str, Any],
    train: str = "pass",
    algorithm: dict[str, Any] | None = None,
    device: str = "none",
    modes: Sequence[str] = ("train",),
    environments: Sequence[str] = (),
) -> Path:
    """A worker that describes itself, answers `check`, and does `train`. Return its script.

    `algorithm`: more than id, title and parameters of the one that it has.
    """
    algorithms = [{**_DESCRIPTION["algorithms"][0], **(algorithm or {})}]
    description = {
        **_DESCRIPTION,
        "worker": name,
        "algorithms": algorithms,
        "modes": modes,
        "environments": [{"id": environment} for environment in environments],
    }
    describe = json.dumps(json.dumps(description))
    script = stack.home / f"{name}.py"
    script.write_text(
        "import json, os, pathlib, signal, sys, time\n"
        f"answers = {{'describe': {describe}, 'check': {json.dumps(json.dumps(check))}}}\n"
        "if sys.argv[1] in answers:\n    print(answers[sys.argv[1]])\n    sys.exit()\n"
        f"{train}\n"
    )
    (stack.home / "workers.d" / f"{name}.toml").write_text(
        f'id = "{name}"\ntitle = "{name}"\nroom = "synthetic"\n'
        f'command = ["{{python}}", "{script}"]\ndevice = "{device}"\n'
    )
    return script
