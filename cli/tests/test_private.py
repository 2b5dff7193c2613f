"""What the supervisor writes is for its user alone, and how it sees that the broker is up."""

import asyncio
import os
import stat
from pathlib import Path

import pytest

from mosaic_cli.stack.greeting import greets
from mosaic_cli.stack.layout import Layout
from mosaic_cli.stack.private import open_log


def mode(path: Path) -> int:
    """Permission bits of a path."""
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_stack_folders_and_logs_are_private(tmp_path: Path, umask: int) -> None:
    """Folders are 0700 and logs 0600 under any umask, and those of an older version are closed."""
    layout = Layout(root=tmp_path, home=tmp_path / "home", venvs=tmp_path / "venvs")
    old = layout.supervisor_log
    previous = os.umask(umask)
    try:
        old.parent.mkdir(parents=True)
        old.write_text("{}\n")
        layout.prepare_home(reserve_bytes=0)
        with open_log(old) as log, open_log(old.with_name("broker.log")) as new:
            log.write(b"more\n")
            new.write(b"first\n")
    finally:
        os.umask(previous)
    assert (mode(old.parent), mode(layout.lock_file.parent)) == (0o700, 0o700)
    assert (mode(old), mode(old.with_name("broker.log"))) == (0o600, 0o600)
    assert old.read_text() == "{}\nmore\n"


@pytest.mark.parametrize(
    ("said", "is_up"),
    [
        (b'INFO {"server_id":"x","jetstream":true} \r\n', True),
        (b'INFO {"server_id":"x"} \r\n', False),
        (b"HTTP/1.1 400 Bad Request\r\n", False),
        (b"INFO []\r\n", False),
        (b"INFO {\r\n", False),
        (b"", False),
        (b"x" * 200_000, False),
    ],
)
def test_only_a_broker_with_jetstream_is_up(said: bytes, is_up: bool) -> None:
    """The broker is up when its greeting says so; anything else that listens there is not the broker."""
    assert asyncio.run(answers(said)) == (is_up, False)


async def answers(said: bytes) -> tuple[bool, bool]:
    """What the probe finds at a server that says this, and after it has gone."""

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    found = await greets("127.0.0.1", port)
    server.close()
    await server.wait_closed()
    return found, await greets("127.0.0.1", port)
