"""Homes and environments for stacks, and what a test says of its stack by marks."""

import sysconfig
import venv
from pathlib import Path

import pytest
from tests.stack import SYNTHETIC

_MANIFEST = """\
id = "synthetic"
title = "Synthetic events"
aliases = ["fake_worker"]
room = "synthetic"
command = ["{python}", "-m", "mosaic_workerkit.testing.synthetic"]
"""


def make_environment(folder: Path, *more: Path) -> None:
    """Make an environment with the packages of this one, and with those in the folders `more`."""
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    lines = [f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})", *map(str, more)]
    (packages / "tests.pth").write_text("\n".join(lines) + "\n")


def make_home(folder: Path) -> Path:
    """Make a MOSAIC_HOME that knows the synthetic worker."""
    (folder / "workers.d").mkdir(parents=True)
    (folder / "workers.d" / SYNTHETIC).write_text(_MANIFEST)
    return folder


def pace_of(request: pytest.FixtureRequest) -> dict[str, object]:
    """The waits that a test shortens by `@pytest.mark.pace({NAME: SECONDS})`."""
    marks = [mark.args[0] for mark in request.node.iter_markers("pace")]
    return {name: value for mark in reversed(marks) for name, value in mark.items()}
