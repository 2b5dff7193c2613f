"""What a service makes is its user's alone."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from mosaic_contracts.stack_files import BROKER_CONFIG
from mosaic_servicekit.broker import init_broker
from mosaic_servicekit.privacy import private_folder


def mode(path: Path) -> int:
    """Permission bits of a path."""
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_a_service_makes_private_files_under_any_umask(tmp_path: Path, umask: int) -> None:
    """Files and folders that a service makes are 0600 and 0700, and the user's umask is remembered for runs."""
    code = (
        "import os, pathlib, sys; from mosaic_servicekit.lifecycle import run_service;"
        "from mosaic_servicekit.privacy import umask\n"
        "async def main(_):\n"
        "    pathlib.Path('folder').mkdir(); pathlib.Path('file').touch(); print(oct(umask.of_user))\n"
        "sys.exit(run_service(main))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        umask=umask,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (mode(tmp_path / "folder"), mode(tmp_path / "file")) == (0o700, 0o600)
    assert done.stdout.strip() == oct(umask)


@pytest.mark.parametrize("before", [0o777, 0o755, 0o2775, 0o750, 0o700])
def test_a_folder_of_an_older_version_is_closed(tmp_path: Path, before: int) -> None:
    """A folder that others could open is closed to them; nothing else about it changes."""
    folder = tmp_path / "runs"
    folder.mkdir()
    folder.chmod(before)
    private_folder(folder)
    assert mode(folder) == before & ~0o077


def test_the_brokers_files_are_private(tmp_path: Path) -> None:
    """Streams, configuration and keys lie in folders that only their user can open, also below an older home."""
    (tmp_path / "nats").mkdir(mode=0o755)
    previous = os.umask(0)
    try:
        init_broker(tmp_path, 4222)
    finally:
        os.umask(previous)
    assert mode(tmp_path / "nats") == 0o700
    for path in (tmp_path / "secrets" / "broker").iterdir():
        assert mode(path) & 0o077 == 0
    assert mode(tmp_path / BROKER_CONFIG) == 0o600


def test_no_monitor_is_opened_without_a_port_for_it(tmp_path: Path) -> None:
    """The broker's monitor asks for no credential, so the stack of one user does not open it."""
    config = init_broker(tmp_path, 4222).read_text()
    assert "http" not in config
    monitored = init_broker(tmp_path, 4222, 8222, "0.0.0.0").read_text()  # noqa: S104
    assert 'http: "127.0.0.1:8222"' in monitored
