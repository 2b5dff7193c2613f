"""What `doctor` says of a Ray cluster. The answers are those of Ray 2.60, as its dashboard sends them."""

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.gateway_double import Mosaic

from mosaic_cli.ray_check import RaySettings, ray_findings

ELSEWHERE = "203.0.113.1"
"""An address for documentation."""


class _Dashboard(ThreadingHTTPServer):
    """Answers as a head of Ray does."""

    def __init__(self) -> None:
        self.version = "2.60.0"
        self.token = ""
        self.nodes = {"127.0.0.1": "ALIVE"}
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, path: str) -> dict[str, Any]:
        if path == "/api/version":
            return {"version": "4", "ray_version": self.version, "ray_commit": "0"}
        raylets = [
            {"raylet": {"nodeId": name, "state": state, "nodeManagerAddress": name}}
            for name, state in self.nodes.items()
        ]
        return {"result": True, "msg": "", "data": {"summary": raylets}}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server = self.server
        assert isinstance(server, _Dashboard)
        wanted = f"Bearer {server.token}" if server.token else None
        refused = wanted is not None and self.headers.get("Authorization") != wanted
        self.send_response(401 if refused else 200)
        self.end_headers()
        self.wfile.write(b"" if refused else json.dumps(server.answer(self.path)).encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Tests print nothing."""


@pytest.fixture
def dashboard() -> Iterator[_Dashboard]:
    """A dashboard on loopback."""
    with _Dashboard() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def settings(address: str, **changes: Any) -> RaySettings:
    """A stack on the head's own machine."""
    made = RaySettings(address, token="", home="/shared/m", node_home="", is_broker_open=False)
    return made._replace(**changes)


def said(address: str, **changes: Any) -> list[tuple[str, str]]:
    """Level and message of each finding."""
    return [(one.level, one.message) for one in ray_findings(settings(address, **changes))]


def test_a_cluster_of_this_machine(dashboard: _Dashboard) -> None:
    """One line, with version and address."""
    assert said(dashboard.address) == [("ok", f"Ray 2.60.0 answers at {dashboard.address}")]


@pytest.mark.parametrize(
    ("version", "level"), [("2.7.1", "blocking"), ("2.8.0", "ok"), ("3.0.0.dev0", "ok")]
)
def test_a_version_that_refuses_jobs(dashboard: _Dashboard, version: str, level: str) -> None:
    """Before 2.8 a job may not have an `entrypoint_memory`."""
    dashboard.version = version
    ((found, words),) = said(dashboard.address)
    assert (found, version in words) == (level, True)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [("ok", "must see /shared/m at the same path"), ("warning", "--broker-bind")]),
        ({"is_broker_open": True}, [("ok", "must see /shared/m at the same path")]),
        ({"node_home": "/scratch/m"}, [("blocking", "--broker-bind")]),
        ({"node_home": "m", "is_broker_open": True}, [("blocking", "begins with /")]),
        (
            {"node_home": "/scratch/m", "is_broker_open": True},
            [("ok", "below /scratch/m on their nodes")],
        ),
    ],
)
def test_nodes_elsewhere(
    dashboard: _Dashboard, changes: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    """They need the broker, and either the shared folder or one of their own."""
    dashboard.nodes = {"127.0.0.1": "ALIVE", ELSEWHERE: "ALIVE"}
    _, *found = said(dashboard.address, **changes)
    assert [level for level, _ in found] == [level for level, _ in expected]
    assert all(words in one[1] for one, (_, words) in zip(found, expected, strict=True))


def test_a_cluster_without_living_nodes(dashboard: _Dashboard) -> None:
    """Runs wait there; a dead node is none that runs could use."""
    dashboard.nodes = {ELSEWHERE: "DEAD"}
    assert [level for level, _ in said(dashboard.address)] == ["ok", "warning"]


def test_a_token(dashboard: _Dashboard) -> None:
    """A cluster that asks for one says so; the right one is enough."""
    dashboard.token = "right"
    for token, words in (("", "it takes a token (401)"), ("wrong", "the token is wrong (401)")):
        ((level, message),) = said(dashboard.address, token=token)
        assert (level, words in message, "MOSAIC_RAY_TOKEN" in message) == ("blocking", True, True)
    assert [level for level, _ in said(dashboard.address, token="right")] == ["ok"]


def test_an_address_at_which_no_ray_answers(dashboard: _Dashboard) -> None:
    """No address, nobody there, and another service."""
    assert "is no address of a dashboard" in said("head:8265")[0][1]
    dashboard.version = None  # type: ignore[assignment]  # as of another service
    assert "it is no dashboard of Ray" in said(dashboard.address)[0][1]
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        ((level, words),) = said(f"http://127.0.0.1:{bound.getsockname()[1]}")
    assert (level, "does not answer: [Errno 111] Connection refused" in words) == ("blocking", True)


def test_doctor_looks_at_ray_only_where_the_stack_uses_it(
    mosaic: Mosaic, dashboard: _Dashboard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While no stack is up, by the variables of the shell, as `up` would."""

    def about_ray() -> list[str]:
        findings = json.loads(mosaic("doctor", "--json")[1])["findings"]
        return [one["message"] for one in findings if one["where"] == "ray"]

    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path))
    monkeypatch.setenv("MOSAIC_RAY_ADDRESS", dashboard.address)
    monkeypatch.delenv("MOSAIC_URL", raising=False)
    assert about_ray() == []
    monkeypatch.setenv("MOSAIC_PLACEMENT", "ray")
    assert about_ray() == [f"Ray 2.60.0 answers at {dashboard.address}"]
