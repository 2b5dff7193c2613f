"""What compose.yaml says before anything runs: whose images, which settings, which limits, and whose socket."""

import json
import os
import re
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from containers.compose_stack import engine_answers, project_name
from stack_under_test import ROOT

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(not engine_answers(), reason="no container engine answers here"),
]
OF_THE_STACK = {
    *("MOSAIC_HOME", "MOSAIC_ROOT", "MOSAIC_VENVS", "MOSAIC_CREDS"),
    *("MOSAIC_GATEWAY_PORT", "MOSAIC_BIND", "MOSAIC_TLS", "MOSAIC_TLS_PORT", "MOSAIC_BEHIND"),
    *("MOSAIC_PLACEMENT", "MOSAIC_ENGINE_URL", "MOSAIC_ENGINE_VOLUME", "MOSAIC_ENGINE_NETWORK"),
    *("MOSAIC_ENGINE_OUTSIDE_NETWORK", "MOSAIC_ENGINE_DOORS", "MOSAIC_GPU_HELPER"),
}
"""Variables that the images, compose.yaml or an overlay decide, and a variable for tests."""
OF_THE_EMBEDDED_STACK = ("MOSAIC_BROKER_", "MOSAIC_NODE_HOME", "MOSAIC_SLURM_", "MOSAIC_RAY_")
"""Clusters, and a broker for other machines: a stack in containers has neither."""


def config(**variables: str) -> dict[str, Any]:
    """compose.yaml as Compose reads it, with these variables set."""
    asked = subprocess.run(
        ["docker", "compose", "--profile", "build", "config", "--format", "json"],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(asked.stdout)
    return found


def documented() -> dict[str, set[str]]:
    """Services that read each variable, by the table of docs/reference/environment.md."""
    found: dict[str, set[str]] = {}
    for line in (ROOT / "docs" / "reference" / "environment.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        for name in re.findall(r"`(MOSAIC_\w+)`", cells[1] if len(cells) > 3 else ""):
            readers = set(re.findall(r"\w+", cells[2]))
            every = {"recorder", "scheduler", "gateway"}
            found[name] = every if readers & {"services", "all"} else readers & every
    return found


def test_no_image_of_ours_is_ever_pulled() -> None:
    """Nobody owns the name localhost/mosaic/* on a registry: each such image is built here or refused, never pulled."""
    services = config()["services"]
    ours = {name: s for name, s in services.items() if s["image"].startswith("localhost/mosaic/")}
    assert set(services) - set(ours) == {"nats"}
    assert {service["pull_policy"] for service in ours.values()} == {"never"}
    built = {service["image"] for service in ours.values() if "build" in service}
    assert built == {service["image"] for service in ours.values()}


def test_a_missing_image_is_refused_and_not_pulled(project: dict[str, str]) -> None:
    """Where nothing was built and nothing may be, Compose says so, and asks no registry for our names."""
    create = ["docker", "compose", "create", "--no-build", "recorder", "scheduler", "gateway"]
    environ = {**project, "MOSAIC_VERSION": "0.0.0-never-built"}
    done = subprocess.run(
        create, cwd=ROOT, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "No such image: localhost/mosaic/" in done.stderr
    assert "Pull" not in done.stderr


def test_documented_settings_reach_their_services() -> None:
    """Each variable that docs/reference/environment.md gives to a service reaches it, from shell or .env file."""
    asked = {
        name: readers
        for name, readers in documented().items()
        if name not in OF_THE_STACK and not name.startswith(OF_THE_EMBEDDED_STACK)
    }
    assert {"MOSAIC_CPU_LIMIT", "MOSAIC_DISK_RESERVE_BYTES", "MOSAIC_LOG_FORMAT"} <= set(asked)
    services = config(**dict.fromkeys(asked, "as-set"))["services"]
    missing = [
        f"{name} of {service}"
        for name, readers in asked.items()
        for service in readers
        if services[service]["environment"].get(name) != "as-set"
    ]
    assert missing == []


def test_every_service_has_a_memory_limit() -> None:
    """One service cannot take the machine's memory, and none is preferred by the kernel over a run."""
    services = config()["services"]
    running = [
        service for service in services.values() if "build" not in service.get("profiles", [])
    ]
    assert all(int(service["mem_limit"]) <= 2 * 2**30 for service in running)
    assert config(MOSAIC_OOM_SCORE_ADJ="-500")["services"]["nats"]["oom_score_adj"] == -500


@pytest.fixture
def project(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Environment of a project of its own; nothing of it is left."""
    environ = {**os.environ, "COMPOSE_PROJECT_NAME": project_name(tmp_path)}
    yield environ
    down = ["docker", "compose", "down", "-v", "--timeout", "1"]
    subprocess.run(down, cwd=ROOT, env=environ, capture_output=True, check=True)


SOON_UNHEALTHY = """
services:
  engine:
    healthcheck: { interval: 1s, start_period: 1s, start_interval: 1s, retries: 2 }
"""
"""The image's own health check gives an engine half a minute to start, three times."""


def up_engine(environ: dict[str, str]) -> str:
    """Start the engine proxy, which must fail; all that Compose and the container said."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as soon:
        soon.write(SOON_UNHEALTHY)
        soon.flush()
        return _up_engine(environ, ["-f", "compose.yaml", "-f", soon.name])


def _up_engine(environ: dict[str, str], files: list[str]) -> str:
    up = ["docker", "compose", *files, "up", "-d", "--wait", "engine"]
    done = subprocess.run(up, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    logs = ["docker", "compose", "logs", "--no-log-prefix", "engine"]
    said = subprocess.run(logs, cwd=ROOT, env=environ, capture_output=True, text=True, check=True)
    return done.stderr + said.stdout


def test_a_missing_socket_is_refused(project: dict[str, str], tmp_path: Path) -> None:
    """DOCKER_SOCKET names nothing: `up` fails with that path, and no folder is made there."""
    path = tmp_path / "nowhere" / "docker.sock"
    said = up_engine({**project, "DOCKER_SOCKET": str(path)})
    assert f"does not exist: {path}" in said
    assert not path.parent.exists()


def test_a_folder_is_no_socket(project: dict[str, str], tmp_path: Path) -> None:
    """DOCKER_SOCKET names a folder: not healthy, and the log names variable, path and fault."""
    said = up_engine({**project, "DOCKER_SOCKET": str(tmp_path)})
    assert f"DOCKER_SOCKET={tmp_path} is not a socket" in said
    assert "unhealthy" in said or "exited" in said


def test_a_socket_without_an_engine(project: dict[str, str]) -> None:
    """A socket on which nobody listens: not healthy, and the log names the path."""
    with tempfile.TemporaryDirectory() as folder:  # short: a socket's path has at most 107 bytes
        path = f"{folder}/docker.sock"
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path)
        said = up_engine({**project, "DOCKER_SOCKET": path})
    assert f"no container engine answers on the socket {path}" in said
    assert "unhealthy" in said
