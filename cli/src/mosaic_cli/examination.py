"""What `doctor` looks at: each check gives findings with what to do."""

import json
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from mosaic_base import broker_tls
from mosaic_cli.cluster_check import slurm_findings
from mosaic_cli.errors import HomeUnusable
from mosaic_cli.ray_check import DEFAULT_ADDRESS, RaySettings, ray_findings
from mosaic_cli.stack import xmpp_wish as xmpp
from mosaic_cli.stack.layout import Layout, disk_low_bytes, disk_reserve_bytes
from mosaic_cli.stack.lock import lock_holder
from mosaic_cli.stack.lone_run import going_on_text, lone_runs, unknown_runs, unknown_text
from mosaic_cli.stack.ports import clash, is_free
from mosaic_cli.stack.state import earlier_stack, ports_of, running_stack
from mosaic_cli.store_size import store_problem, store_text
from mosaic_cli.target import elsewhere_url, is_elsewhere, open_client
from mosaic_cli.wording import size
from mosaic_cli.xmpp_elsewhere import ask_for_login
from mosaic_client.errors import ClientError
from mosaic_client.location import owner_hint
from mosaic_contracts.gateway_address import is_loopback
from mosaic_contracts.interpreter import python_module
from mosaic_contracts.stack_files import TELEMETRY_DB
from mosaic_contracts.worker import Finding

PROGRAMS = {
    "broker": "nats-server",
    "recorder": "python",
    "scheduler": "python",
    "gateway": "python",
    "worker_cleanrl": "python",
}
COMFORTABLE_BYTES = 5 * 2**30
"""A run at the level `full` may take some GiB."""
EARLIEST_CLOCK_S = 1_735_689_600
"""2025-01-01: an earlier clock is one that was never set."""


def examine(layout: Layout) -> list[Finding]:
    """Run every check; where a stack elsewhere is named, those that concern it and the way to it."""
    here: list[Callable[[Layout], list[Finding]]] = [
        _python,
        _clock,
        _home,
        _environments,
        _broker_version,
        _token,
        _stack,
        _copies,
        _xmpp,
        _slurm,
        _ray,
    ]
    checks = [_python, _clock, _named, _answer, _xmpp_elsewhere] if is_elsewhere() else here
    return [finding for check in checks for finding in _findings(check, layout)]


def _findings(check: Callable[[Layout], list[Finding]], layout: Layout) -> list[Finding]:
    """Run one check; files of another user are a finding like any other."""
    what = check.__name__.removeprefix("_").replace("_", " ")
    try:
        return check(layout)
    except HomeUnusable as error:
        return [_blocking(what, str(error))]
    except PermissionError as error:
        hint = owner_hint(Path(error.filename or layout.home))
        return [_blocking(what, f"{error.filename}: {error.strerror}. {hint}".strip())]


def _python(_: Layout) -> list[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] != (3, 11):
        return [
            _blocking(
                "python", f"Python {version}; MOSAIC needs 3.11. `./mosaic sync cli` makes its own."
            )
        ]
    if not sys.platform.startswith("linux"):
        return [_blocking("python", f"{sys.platform}: the embedded stack needs Linux.")]
    return [_ok("python", f"Python {version}")]


def _clock(_: Layout) -> list[Finding]:
    now_s = time.time()
    if now_s < EARLIEST_CLOCK_S:
        return [
            _warning("clock", "The clock was never set; times shown will be wrong. Set the date.")
        ]
    return [_ok("clock", time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(now_s)))]


def _home(layout: Layout) -> list[Finding]:
    try:
        layout.prepare_home()
        reserve, low = disk_reserve_bytes(), disk_low_bytes()
    except HomeUnusable as error:
        return [_blocking("data root", str(error))]
    free = shutil.disk_usage(layout.home).free
    words = f"{layout.home}: {size(free)} free"
    if free < low:
        waits = f"new trainings wait below {size(low)} (MOSAIC_DISK_LOW_BYTES)"
        return [_warning("data root", f"{words}; {waits}. Make room.")]
    if free < max(COMFORTABLE_BYTES, 2 * reserve):
        return [_warning("data root", f"{words}; long runs may fill it. Make room.")]
    return [_ok("data root", words)]


def _environments(layout: Layout) -> list[Finding]:
    findings = []
    for component, program in PROGRAMS.items():
        folder = layout.venvs / component
        if not os.access(folder / "bin" / program, os.X_OK):
            # a worker that is missing stops its runs only, and `run` makes it
            make = _warning if component.startswith("worker_") else _blocking
            findings.append(
                make(f"environment {component}", f"missing: run `./mosaic sync {component}`")
            )
        elif not (folder / "mosaic-run.stamp").is_file():
            findings.append(
                _warning(f"environment {component}", f"unfinished: run `./mosaic sync {component}`")
            )
        else:
            findings.append(_ok(f"environment {component}", "there, with its stamp"))
    return findings


def _broker_version(layout: Layout) -> list[Finding]:
    server = layout.venvs / "broker" / "bin" / PROGRAMS["broker"]
    if not os.access(server, os.X_OK):
        return []  # said above
    try:
        done = subprocess.run(
            [server, "--version"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return [
            _blocking("broker", f"{server} does not start ({error}): run `./mosaic sync broker`")
        ]
    if done.returncode != 0:
        return [
            _blocking(
                "broker", f"{server} ends with {done.returncode}: {done.stderr.strip()[:200]}"
            )
        ]
    return [_ok("broker", done.stdout.strip())]


def _token(layout: Layout) -> list[Finding]:
    try:
        mode = stat.S_IMODE(layout.token_file.stat().st_mode)
    except FileNotFoundError:
        return [_ok("token", "none yet; the first start makes it")]
    if mode & 0o077:
        return [_warning("token", f"{layout.token_file} is open to others: chmod 600 it")]
    if not os.access(layout.token_file, os.R_OK):
        return [
            _blocking(
                "token",
                f"{layout.token_file} belongs to another user; use theirs or another MOSAIC_HOME",
            )
        ]
    return [_ok("token", "readable by you only")]


def _named(_: Layout) -> list[Finding]:
    url = elsewhere_url()
    return [
        _ok("stack asked", f"the one at {url} (MOSAIC_URL); this machine's own is not looked at")
    ]


def _xmpp_elsewhere(_: Layout) -> list[Finding]:
    try:
        with open_client() as client:
            line = ask_for_login(client)
    except ClientError:
        return []  # said above
    if line is None:
        return [_ok("xmpp", "none needed: no worker of this stack has agents that talk")]
    if line.level == "ok":
        return [_ok("xmpp", line.message)]
    return [_ok("xmpp", f"only runs whose agents talk need one. {line.message}")]


def _stack(layout: Layout) -> list[Finding]:
    running = running_stack(layout.home, layout.lock_file)
    if running is None:
        holder = lock_holder(layout.lock_file)
        if holder is not None:
            return [_warning("stack", f"supervisor {holder.pid} is starting")]
        return [*_old_ports(layout), *_going_on(layout), _ok("stack", "none is up: ./mosaic up -d")]
    findings = [
        _warning(
            f"service {s.name}",
            f"{s.state}, {s.restarts} restarts, last {s.last_exit}; log {layout.home / s.log}",
        )
        for s in running.services
        if s.restarts or s.state == "backing_off"
    ]
    return findings + _refused(layout, running.broker_url) + _answer(layout) + _store(layout)


def _store(layout: Layout) -> list[Finding]:
    """The telemetry store of a stack that is up, on this machine."""
    try:
        with open_client() as client:
            store = (client.stack().recorder or {}).get("store")
            now = client.now()
    except ClientError:
        return []  # said above
    if not isinstance(store, dict):
        return []
    python = str(layout.venvs / "recorder" / "bin" / "python")
    words = store_text(store, now)
    problem = store_problem(store, python, str(layout.home / TELEMETRY_DB))
    return [_warning("store", f"{words}; {problem}") if problem else _ok("store", words)]


def _copies(layout: Layout) -> list[Finding]:
    """Copies of databases that an update which failed has left."""
    found = sorted((layout.home / TELEMETRY_DB).parent.glob("*.version-*"))
    return [
        _warning(
            "database copy",
            f"{path} ({size(path.stat().st_size)}) was made before an update of the database that has not succeeded. "
            "It goes when one does; the service's log says what failed",
        )
        for path in found
    ]


def _refused(layout: Layout, broker_url: str) -> list[Finding]:
    """Services that the broker does not admit cannot say so themselves."""
    python = str(layout.venvs / "scheduler" / "bin" / "python")
    argv = python_module(python, "mosaic_servicekit.broker", "check", "--home", str(layout.home))
    try:
        done = subprocess.run(
            [*argv, "--url", broker_url], capture_output=True, timeout=20, check=True
        )
        refused: dict[str, str] = json.loads(done.stdout)["refused"]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        return [_warning("broker", f"nobody could ask it whom it admits: {error}")]
    return [
        _blocking(
            f"service {name}",
            f"the broker does not admit it: {why}. `./mosaic down` and `./mosaic up -d` write its credentials again; "
            "runs go on meanwhile",
        )
        for name, why in refused.items()
    ]


def _xmpp(layout: Layout) -> list[Finding]:
    if not xmpp.is_wanted(layout):
        have = "" if xmpp.is_installed() else ", and no ejabberd is installed"
        words = f"none{have}; only runs whose agents talk need one: ./mosaic xmpp up"
        return [_ok("xmpp", words)]
    if not xmpp.is_installed():
        return [_warning("xmpp", f"wanted, but ejabberd is gone: {xmpp.PACKAGES}")]
    running = running_stack(layout.home, layout.lock_file)
    entries = [s for s in running.services if s.name == xmpp.NAME] if running else []
    known = xmpp.known_server(layout)
    if not entries or known is None:
        return [_ok("xmpp", "comes up with the stack")]
    words = f"{entries[0].state.replace('_', ' ')}: {known.domain} at {known.host}:{known.port}"
    return [_ok("xmpp", words) if entries[0].state == "up" else _warning("xmpp", words)]


class _Cluster(NamedTuple):
    """What the stack uses; where none is up, what the next one would use by this shell's variables."""

    placement: str
    partition: str
    ray_address: str
    node_home: str
    is_broker_open: bool

    @classmethod
    def of(cls, layout: Layout) -> "_Cluster":
        running = running_stack(layout.home, layout.lock_file)
        if running is not None:
            is_open = running.broker_url.startswith(broker_tls.SCHEME)
        else:
            bind = os.environ.get("MOSAIC_BROKER_BIND", "")
            is_open = bool(bind) and not is_loopback(f"tls://{bind}")
        if running is not None and running.placement:
            asked = (running.placement, running.partition, running.ray_address, running.node_home)
        else:
            names = ("PLACEMENT", "SLURM_PARTITION", "RAY_ADDRESS", "NODE_HOME")
            placement, partition, address, home = (
                os.environ.get(f"MOSAIC_{name}", "") for name in names
            )
            asked = (placement, partition, address, home)
        return cls(*asked, is_open)


def _slurm(layout: Layout) -> list[Finding]:
    used = _Cluster.of(layout)
    return slurm_findings(
        is_wanted=used.placement == "slurm",
        partition=used.partition,
        is_broker_open=used.is_broker_open,
    )


def _ray(layout: Layout) -> list[Finding]:
    used = _Cluster.of(layout)
    if used.placement != "ray":
        return []
    return ray_findings(
        RaySettings(
            address=used.ray_address or DEFAULT_ADDRESS,
            token=os.environ.get("MOSAIC_RAY_TOKEN", ""),
            home=str(layout.home),
            node_home=used.node_home,
            is_broker_open=used.is_broker_open,
        )
    )


def _old_ports(layout: Layout) -> list[Finding]:
    earlier = earlier_stack(layout.home)
    ports = ports_of(earlier) if earlier is not None else None
    if ports is None:
        return []
    named = {"gateway": ports.gateway, "broker": ports.broker}
    return [
        _warning("ports", f"{clash(name, port)} The next start takes another one.")
        for name, port in named.items()
        if not is_free(port)
    ]


def _going_on(layout: Layout) -> list[Finding]:
    found = [run.run_id for run in lone_runs(layout.home)]
    return [_warning("runs", going_on_text(found))] if found else []


def _answer(layout: Layout) -> list[Finding]:
    try:
        with open_client() as client:
            ready, words = client.ready()
            answer = client.stack()
            skew_s = (client.now() - datetime.now(UTC)).total_seconds()
            unknown = unknown_runs(client, layout.home)
    except ClientError as error:
        return [_blocking("stack", str(error))]
    findings = [_warning("stack", word) for word in dict.fromkeys([*words, *answer.findings])]
    if not findings:
        findings = [
            _ok("stack", "up and ready") if ready else _warning("stack", "up, but not ready yet")
        ]
    if unknown:
        findings.append(_warning("runs", unknown_text(unknown)))
    if abs(skew_s) > 5:
        findings.append(
            _warning("clock", f"The stack's clock differs by {skew_s:.0f} s; ages are its own")
        )
    return findings


def _ok(where: str, message: str) -> Finding:
    return Finding(level="ok", where=where, message=message)


def _warning(where: str, message: str) -> Finding:
    return Finding(level="warning", where=where, message=message)


def _blocking(where: str, message: str) -> Finding:
    return Finding(level="blocking", where=where, message=message)
