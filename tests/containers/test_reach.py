"""What a run can reach, tried from inside real run containers: broker and XMPP server, and nothing else."""

import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from containers.compose_stack import ComposeStack, docker, engine_answers

from mosaic_contracts.spec import RunSpec

pytestmark = [
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not engine_answers(), reason="no container engine answers here"),
]
FOREVER = {"steps": 10**8, "parameters": {"rate": 1_000}}
PORT = 7777
REACHED = """
import json, socket, sys
def reached(place):
    host, port = place.rsplit(":", 1)
    try:
        line = socket.create_connection((host, int(port)), 2)
    except OSError:
        return None
    try:
        line.settimeout(2)
        return line.recv(64).decode(errors="replace") or "closed"
    except OSError:
        return "silent"
print(json.dumps({place: reached(place) for place in sys.argv[1:]}))
"""
SERVES = """
import socket
with socket.create_server(("0.0.0.0", 7777)) as server:
    while True:
        line, _ = server.accept()
        line.sendall(b"of another run")
        line.close()
"""
INTERFACES = "import socket; print(*sorted(name for _, name in socket.if_nameindex()))"


def reached_from(container: str, *places: str) -> dict[str, str | None]:
    """What each place said to a connection from inside; None: there was no connection."""
    said = docker("exec", container, "python", "-c", REACHED, *places)
    found: dict[str, str | None] = json.loads(said)
    return found


def container_of(compose: ComposeStack, run_id: str) -> str:
    """The container of a run that lives."""
    labels = (f"mosaic.stack={compose.project}_home", f"mosaic.run={run_id}")
    (found,) = docker("ps", "-q", *(w for n in labels for w in ("--filter", f"label={n}"))).split()
    return found


@contextmanager
def run_container(compose: ComposeStack, *, internet: bool = False) -> Iterator[str]:
    """The container of a run that lives, and is stopped afterwards."""
    names = {"worker": "synthetic", "algorithm": "synthetic", "environment": "Synthetic-v0"}
    spec = RunSpec.model_validate({**names, **FOREVER, "internet": internet})
    with compose.client() as client:
        consent = client.preflight(spec).digest if internet else None
        run_id = client.submit(spec.model_copy(update={"consent": consent})).run_id
    compose.wait_events(run_id, 100)
    yield container_of(compose, run_id)
    with compose.client() as client:
        client.stop(run_id)
    compose.wait_final(run_id)


@pytest.fixture
def on_the_host() -> Iterator[int]:
    """Port of a service of the host that listens on every address; each line that comes gets a word."""
    with socket.create_server(("0.0.0.0", 0)) as server:  # noqa: S104 - that is what is tried

        def serve() -> None:
            while True:
                try:
                    line, _ = server.accept()
                except OSError:
                    return  # the test is over
                with line:
                    line.sendall(b"of the host")

        threading.Thread(target=serve, daemon=True).start()
        yield int(server.getsockname()[1])


def addresses_of_the_host() -> list[str]:
    """Those of its interfaces, bridges of the engine included."""
    said = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=True).stdout
    bridges: list[dict[str, Any]] = json.loads(
        docker("network", "inspect", *docker("network", "ls", "-q").split())
    )
    gateways = [
        entry["Gateway"]
        for bridge in bridges
        for entry in bridge["IPAM"]["Config"] or []
        if "Gateway" in entry
    ]
    own = [word for word in said.split() if ":" not in word]
    return list(dict.fromkeys([*own, *gateways]))


def addresses(container: str) -> list[str]:
    """Addresses of a container, on every network."""
    (known,) = json.loads(docker("inspect", container))
    networks = known["NetworkSettings"]["Networks"].values()
    return [network["IPAddress"] for network in networks if network["IPAddress"]]


def test_a_run_without_internet_reaches_the_broker_alone(
    compose: ComposeStack, on_the_host: int
) -> None:
    """No service of the host, no other run, no monitor, no other service: it has no network but its own loopback."""
    services = ("nats", "recorder", "scheduler", "gateway", "engine", "xmpp", "doors")
    with run_container(compose, internet=True) as other, run_container(compose) as own:
        docker("exec", "-d", other, "python", "-c", SERVES)
        places = [f"{address}:{on_the_host}" for address in addresses_of_the_host()]
        places += [f"{address}:{PORT}" for address in addresses(other)]
        for service in services:
            for address in addresses(compose.container(service)):
                places += [f"{address}:{port}" for port in (2375, 4222, 5222, 5280, 8080, 8222)]
        assert len(places) > 20
        assert set(reached_from(own, *places).values()) == {None}
        assert docker("exec", own, "python", "-c", INTERFACES).split() == ["lo"]
        broker = reached_from(own, "127.0.0.1:4222")["127.0.0.1:4222"]
        assert str(broker).startswith("INFO {")


def test_runs_with_internet_do_not_see_each_other(compose: ComposeStack) -> None:
    """On the network with a way out a run reaches no port of another run; the broker still by its own loopback."""
    with (
        run_container(compose, internet=True) as other,
        run_container(compose, internet=True) as own,
    ):
        docker("exec", "-d", other, "python", "-c", SERVES)
        (address,) = addresses(other)
        assert reached_from(other, f"{address}:{PORT}") == {f"{address}:{PORT}": "of another run"}
        found = reached_from(own, f"{address}:{PORT}", "127.0.0.1:4222")
        assert found[f"{address}:{PORT}"] is None
        assert str(found["127.0.0.1:4222"]).startswith("INFO {")


def test_the_brokers_monitor_is_for_itself(compose: ComposeStack) -> None:
    """It asks for no credential, so that no other container, of the stack or of a run, may reach it."""
    places = [f"{address}:8222" for address in addresses(compose.container("nats"))]
    assert len(places) == 2
    assert set(reached_from(compose.container("scheduler"), *places).values()) == {None}
    inside = ["exec", "-T", "nats", "wget", "-q", "-O", "-", "http://127.0.0.1:8222/healthz"]
    assert "ok" in compose.compose(*inside)


def test_the_name_of_its_host_is_known_to_a_run(compose: ComposeStack) -> None:
    """Libraries that look their own host up find it, though there is no name service."""
    look = "import socket; print(socket.gethostbyname(socket.gethostname()))"
    with run_container(compose) as own:
        assert docker("exec", own, "python", "-c", look).strip() == "127.0.0.1"
