"""Doors: loopback ports of a container without a network, which lead to sockets of the stack."""

import asyncio
import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.run_folder import make_run_folder

from mosaic_contracts.launch import Door
from mosaic_workerkit.shipper.doors import opened


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send back what comes until it ends, then say so."""
    while data := await reader.read(2**16):
        writer.write(data)
        await writer.drain()
    writer.close()


async def test_bytes_pass_both_ways(tmp_path: Path) -> None:
    """What a client sends through a door comes out whole, and so does the answer; several clients do not mix."""
    path, port = tmp_path / "far.sock", _free_port()
    sent = [bytes([number]) * 3_000_000 for number in range(4)]

    async def talk(data: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(data)
        answer = await reader.readexactly(len(data))
        writer.close()
        return answer

    async with (
        await asyncio.start_unix_server(_echo, path),
        opened([Door(port=port, socket=str(path))]),
    ):
        assert await asyncio.gather(*map(talk, sent)) == sent


async def test_a_far_end_that_closes_is_seen(tmp_path: Path) -> None:
    """When the stack's side ends, the client's connection ends after the last byte."""
    path, port = tmp_path / "far.sock", _free_port()

    async def says_and_leaves(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"x" * 1_000_000)
        writer.close()

    async with (
        await asyncio.start_unix_server(says_and_leaves, path),
        opened([Door(port=port, socket=str(path))]),
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert len(await reader.read()) == 1_000_000
        writer.close()


async def test_a_door_that_leads_nowhere_is_closed(tmp_path: Path) -> None:
    """While nobody is behind it a client is turned away at once; when somebody is there again it passes."""
    path, port = tmp_path / "far.sock", _free_port()
    async with opened([Door(port=port, socket=str(path))]):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b""
        writer.close()
        async with await asyncio.start_unix_server(_echo, path):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"again")
            assert await reader.readexactly(5) == b"again"
            writer.close()


async def test_a_taken_port_is_an_error(tmp_path: Path) -> None:
    """A door that cannot be opened is said, not passed over."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        door = Door(port=taken.getsockname()[1], socket=str(tmp_path / "far.sock"))
        with pytest.raises(OSError, match="in use"):
            async with opened([door]):
                pass


def test_a_worker_may_connect_at_once(tmp_path: Path) -> None:
    """The port is open before the worker's first instruction, however long the shipper takes to start."""
    port = _free_port()
    connects = f"import socket; socket.create_connection(('127.0.0.1', {port})).close()"
    folder = tmp_path / "run"
    make_run_folder(
        folder,
        worker_argv=[sys.executable, "-c", connects],
        shipper_argv=[sys.executable, "-c", "import time; time.sleep(3)"],
        doors=[{"port": port, "socket": str(tmp_path / "far.sock")}],
    )
    argv = [sys.executable, "-m", "mosaic_workerkit.runner", "--run-dir", str(folder)]
    assert subprocess.run(argv, stderr=subprocess.DEVNULL, check=False, timeout=60).returncode == 0
    assert json.loads((folder / "control/exit.json").read_text())["code"] == 0


async def test_the_runners_socket_is_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What connected while no shipper was there is carried by the next one."""
    path = tmp_path / "far.sock"
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"early")
    monkeypatch.setenv("MOSAIC_DOORS", json.dumps({port: listening.detach()}))
    async with (
        await asyncio.start_unix_server(_echo, path),
        opened([Door(port=port, socket=str(path))]),
    ):
        assert await reader.readexactly(5) == b"early"
        writer.close()
