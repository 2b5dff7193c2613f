"""Secrets in a run's folder: files for its processes, for as long as it lives."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from pydantic import SecretStr

from mosaic_scheduler.secrets.vault import write_private

FOLDER = "control/secrets"
"""Below the run's folder."""


def deliver(run_dir: Path, secrets: Mapping[str, SecretStr]) -> None:
    """Write each secret into a file of its own."""
    if not secrets:
        return
    folder = run_dir / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    for name, value in secrets.items():
        write_private(folder / name, value)


def variables(run_dir: Path, names: list[str]) -> dict[str, str]:
    """Environment variables that say where the files are: `MOSAIC_SECRET_<NAME>_FILE`, the name in capitals."""
    return {f"MOSAIC_SECRET_{name.upper()}_FILE": str(run_dir / FOLDER / name) for name in names}


def withdraw(run_dir: Path) -> None:
    """Delete the files: the run has ended."""
    folder = run_dir / FOLDER
    if folder.is_dir():
        shutil.rmtree(folder)
