"""Environments are made by one process at a time, also when one is killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mosaic_environments.tree import Tree

SLOW_UV = """#!/bin/sh
[ "$1" = --version ] && echo "uv 1.2.3" && exit
touch "$STARTED"
until [ -e "$MAY_GO_ON" ]; do sleep 0.02; done
[ "$1" != venv ] || { for last; do :; done; mkdir -p "$last/bin" && ln -sf /bin/true "$last/bin/python"; }
"""
"""In place of uv: it waits for the test."""
SYNC = """
import sys
from mosaic_environments import command
from mosaic_environments.tree import Tree
command.sync(Tree(sys.argv[1], sys.argv[2], is_checkout=True), ["contracts"])
"""


def start_sync(tree: Tree, environ: dict[str, str]) -> "subprocess.Popen[str]":
    """Make an environment in a process of its own."""
    argv = [sys.executable, "-c", SYNC, tree.root, tree.venvs]
    return subprocess.Popen(argv, env=environ, stderr=subprocess.PIPE, text=True)


def wait_for(path: Path) -> None:
    """Wait until another process made a file; it has no event for us."""
    end = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < end, path
        time.sleep(0.02)


@pytest.mark.timeout(60)
def test_the_lock_outlives_a_killed_process_while_its_uv_still_writes(
    tree: Tree, tmp_path: Path
) -> None:
    """The next one waits for that uv, says so, and then makes the environment."""
    uv = tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text(SLOW_UV)
    uv.chmod(0o755)
    started, may_go_on = tmp_path / "started", tmp_path / "may_go_on"
    environ = {
        **os.environ,
        "PATH": f"{uv.parent}:{os.environ['PATH']}",
        "STARTED": str(started),
        "MAY_GO_ON": str(may_go_on),
        "UV_CACHE_DIR": str(tmp_path / "cache"),
    }
    first = start_sync(tree, environ)
    wait_for(started)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    second = start_sync(tree, environ)
    assert second.stderr is not None
    said = ""
    while "waiting" not in said:
        read = second.stderr.read(1)
        assert read, said
        said += read
    may_go_on.touch()
    _, rest = second.communicate(timeout=60)
    assert second.returncode == 0, said + rest
    assert (Path(tree.venvs) / "contracts" / "mosaic-run.stamp").is_file()
