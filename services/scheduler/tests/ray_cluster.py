"""A real Ray on loopback: one that runs, or one that is made for the tests.

`MOSAIC_TEST_RAY` says which. An address (`http://127.0.0.1:8265`) is a cluster that runs on this machine. A folder is
an environment with Ray; it is made when it is not there (about 300 MB). Without it the tests are skipped: Ray takes
1.4 GB and half a minute to start.
"""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import psutil
import pytest

from mosaic_servicekit.testing.broker import free_ports

RAY = "ray[default]==2.60.0"
VARIABLE = "MOSAIC_TEST_RAY"
SKIPPED = f"real Ray: set {VARIABLE} to a folder for its environment, or to a cluster's address"
_START_S = 180
_TRIES = 3
"""On a machine under load: Ray gives its node 30 s to start."""
_SETTINGS = {"RAY_AUTH_MODE": "disabled", "RAY_agent_register_timeout_ms": "120000"}


@contextmanager
def ray_cluster(
    folder: Path, hidden: Sequence[Path] = (), dashboard_port: int | None = None
) -> Iterator[str]:
    """Address of the dashboard of a cluster with two cores and two GPUs that do not exist.

    Args:
        folder: for its files; a short path, for there will be sockets in it.
        dashboard_port: of an earlier cluster whose place it takes; None: any free one.
        hidden: folders in place of which the cluster has empty ones of its own; it takes root.
    """
    wanted = os.environ.get(VARIABLE, "")
    if not wanted:
        pytest.skip(SKIPPED)
    if hidden and (wanted.startswith("http://") or os.geteuid()):
        pytest.skip(
            "a node with mounts of its own takes root and a cluster that is made for the test"
        )
    if wanted.startswith("http://"):
        yield wanted
        return
    command = _command(Path(wanted))
    try:
        for left in range(_TRIES - 1, -1, -1):
            port, free, *agents = free_ports(6)
            dashboard = dashboard_port or free
            done = subprocess.run(
                _mounted(
                    [str(command), "start", "--head", *_options(folder, port, dashboard, agents)],
                    hidden,
                ),
                env={**os.environ, **_SETTINGS},
                capture_output=True,
                text=True,
                timeout=_START_S,
                check=False,
            )
            if done.returncode == 0:
                break
            _end(folder)
            if not left:
                pytest.fail(f"Ray did not start:\n{done.stdout[-1000:]}\n{done.stderr[-1000:]}")
        address = f"http://127.0.0.1:{dashboard}"
        with closing(HTTPConnection("127.0.0.1", dashboard, timeout=60)) as asked:
            asked.request("GET", "/api/jobs/")
            answer = asked.getresponse()
            assert answer.status == 200, answer.read()
        yield address
    finally:
        _end(folder)


def _command(environment: Path) -> Path:
    command = environment / "bin" / "ray"
    if not command.exists():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        python = environment / "bin" / "python"
        subprocess.run([str(python), "-m", "pip", "install", "-q", RAY], check=True)
    return command


def _mounted(argv: list[str], hidden: Sequence[Path]) -> list[str]:
    """The same command, for processes that have empty folders of their own in place of those."""
    if not hidden:
        return argv
    mounts = [f"mount -t tmpfs tmpfs {shlex.quote(str(folder))}" for folder in hidden]
    script = " && ".join([*mounts, f"exec {shlex.join(argv)}"])
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]


def _options(folder: Path, port: int, dashboard: int, agents: list[int]) -> list[str]:
    names = (
        "dashboard-agent-listen-port",
        "dashboard-agent-grpc-port",
        "metrics-export-port",
        "runtime-env-agent-port",
    )
    return [
        "--node-ip-address=127.0.0.1",
        f"--port={port}",
        "--dashboard-host=127.0.0.1",
        f"--dashboard-port={dashboard}",
        *(f"--{name}={number}" for name, number in zip(names, agents, strict=True)),
        "--num-cpus=2",
        "--num-gpus=2",
        "--object-store-memory=80000000",
        f"--temp-dir={folder}",
        "--disable-usage-stats",
    ]


def processes(folder: Path, name: str = "") -> list[psutil.Process]:
    """Processes of the cluster with files in a folder; with `name` those whose program has it."""
    found = []
    for process in psutil.process_iter():
        try:
            argv = process.cmdline()
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        if any(str(folder) in word for word in argv) and name in argv[0]:
            found.append(process)
    return found


def _end(folder: Path) -> None:
    for process in processes(folder):
        try:
            process.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue
