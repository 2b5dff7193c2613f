#!/usr/bin/env python3
"""A real ejabberd for tests: free ports on 127.0.0.1, a temporary folder, ended with the process that started it.

`python serve.py` prints one line of JSON once agents could log in, `{"home": ..., "server": <server.json>}`, and
ends (and with it the server and its folder) when its stdin is closed or on SIGTERM. With `--home DIR` the folder is
kept and used again. Standard library only, so that the tests of any room can start it with their own interpreter.
Exit code 77: there is no ejabberd on this machine.
"""

import argparse
import ctypes
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HOST = "127.0.0.1"
DOMAIN = "localhost"
RUN = Path(__file__).resolve().parent / "run.sh"
EXIT_NOT_INSTALLED = 77
START_S = 60.0
"""The first start on a loaded machine took 5."""
STOP_S = 15.0
LOOK_EVERY_S = 0.05
_PR_SET_PDEATHSIG = 1
HEADER = (
    "<?xml version='1.0'?><stream:stream to='{}' xmlns='jabber:client' "
    "xmlns:stream='http://etherx.jabber.org/streams' version='1.0'>"
)


class ServerFailed(Exception):
    """It ended before anybody could log in; the message has its last words."""


def is_installed() -> bool:
    """Whether this machine has an ejabberd."""
    programs = Path("/usr/lib").glob("*/ejabberd-*/ebin")
    return shutil.which("erl") is not None and any(programs)


def offers_login(port: int, domain: str = DOMAIN, timeout_s: float = 2.0) -> bool:
    """Whether a client may log in now, after STARTTLS."""
    try:
        with socket.create_connection((HOST, port), timeout_s) as stream:
            stream.sendall(HEADER.format(domain).encode())
            said = b""
            while b"</stream:features>" not in said and (part := stream.recv(4096)):
                said += part
    except OSError:
        return False
    return b"starttls" in said


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody listens on now."""
    sockets = [socket.create_server((HOST, 0)) for _ in range(count)]
    ports = [int(listener.getsockname()[1]) for listener in sockets]
    for listener in sockets:
        listener.close()
    return ports


def ports_for(home: Path) -> list[int]:
    """Ports of the server that used the folder last, where nobody has them by now; else free ones."""
    try:
        facts = json.loads((home / "server.json").read_text())
        ports = [int(facts["port"]), int(facts["api_url"].rpartition(":")[2].partition("/")[0])]
        for port in ports:
            socket.create_server((HOST, port)).close()
    except (FileNotFoundError, OSError, KeyError, ValueError):
        return free_ports(2)
    return ports


def start(home: Path, uid: int | None = None) -> "subprocess.Popen[bytes]":
    """Start the server, with `uid` as somebody else, and wait until it offers a login.

    Raises:
        ServerFailed: it does not.
    """
    ports = ports_for(home)
    environ = {
        **os.environ,
        "XMPP_HOME": str(home),
        "XMPP_DOMAIN": DOMAIN,
        "XMPP_HOST": HOST,
        "XMPP_PORT": str(ports[0]),
        "XMPP_API_PORT": str(ports[1]),
    }
    with (home / "output.log").open("wb") as log:
        server = subprocess.Popen(
            [RUN],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environ,
            cwd=home,
            user=uid,
            group=uid,
            extra_groups=None if uid is None else [],
            preexec_fn=_end_with_parent,
        )
    try:
        wait_until_ready(server, ports[0])
    except ServerFailed as error:
        said = (home / "output.log").read_text(errors="replace").strip()[-2000:]
        raise ServerFailed(f"{error}: {said}") from None
    return server


def wait_until_ready(server: "subprocess.Popen[bytes]", port: int) -> None:
    """Wait until it offers a login.

    Raises:
        ServerFailed: it has ended, or takes too long and was ended.
    """
    deadline_s = time.monotonic() + START_S
    while server.poll() is None and time.monotonic() < deadline_s:
        if offers_login(port):
            return
        time.sleep(LOOK_EVERY_S)  # a port that opens tells nobody
    stop(server)
    raise ServerFailed(f"ejabberd did not come up (exit code {server.returncode})")


def stop(server: "subprocess.Popen[bytes]") -> int:
    """End the server; its exit code, 0 when it ended by itself."""
    if server.poll() is None:
        server.terminate()
        try:
            return server.wait(STOP_S)
        except subprocess.TimeoutExpired:
            server.kill()
    return server.wait()


def serve(home: Path) -> int:
    """Keep a server until stdin is closed or a SIGTERM comes."""
    heard, told = os.pipe()
    signal.signal(signal.SIGTERM, lambda *_: os.write(told, b"!"))
    signal.signal(signal.SIGINT, lambda *_: os.write(told, b"!"))
    server = start(home)
    try:
        said = {"home": str(home), "server": json.loads((home / "server.json").read_text())}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()
        stdin, died = sys.stdin.fileno(), os.pidfd_open(server.pid)
        while select.select([stdin, heard, died], [], [])[0] == [stdin] and os.read(stdin, 4096):
            pass
    finally:
        code = stop(server)
    return code


def _end_with_parent() -> None:
    """Called in the new process: send it SIGTERM when its parent is gone, also by kill -9."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path, help="keep the server's folder, and use it again")
    home: Path | None = parser.parse_args().home
    if not is_installed():
        sys.stderr.write(
            "There is no ejabberd on this machine: apt-get install --no-install-recommends ejabberd openssl\n"
        )
        return EXIT_NOT_INSTALLED
    try:
        if home is not None:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            return serve(home.resolve())
        with tempfile.TemporaryDirectory(prefix="mosaic-xmpp-") as folder:
            return serve(Path(folder))
    except ServerFailed as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
