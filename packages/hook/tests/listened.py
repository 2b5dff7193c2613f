"""Runs a script in a Python process that is listened to, and reads its spool."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import mosaic_hook
from mosaic_hook.settings import VARIABLE, HookSettings

START = Path(mosaic_hook.__file__).parent / "start"


def listened(
    folder: Path,
    script: str,
    *,
    python: str = sys.executable,
    words: tuple[str, ...] = (),
    path: str = "",
) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
    """Return how a script ended and the lines of its spool.

    Args:
        folder: where the spool and the script are made.
        script: its source.
        python: interpreter.
        words: options of the interpreter.
        path: further folders of PYTHONPATH.
    """
    spool = folder / "spool"
    spool.mkdir(exist_ok=True)
    file = folder / "script.py"
    file.write_text(script, "utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(part for part in (str(START), path) if part),
        VARIABLE: HookSettings(str(spool)).text(),
    }
    ended = subprocess.run(
        [python, *words, str(file)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return ended, spooled(spool)


def spooled(spool: Path) -> list[dict[str, Any]]:
    """Return all lines of a spool."""
    return [
        json.loads(line)
        for path in sorted(spool.glob("*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]
