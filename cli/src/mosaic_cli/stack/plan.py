"""What the supervisor starts: one plan a service, in the order of start."""

import json
import os
import subprocess
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import httpx

from mosaic_cli.errors import StackStartProblem
from mosaic_cli.stack.greeting import greets
from mosaic_cli.stack.layout import Layout
from mosaic_cli.stack.ports import HOST, Ports
from mosaic_contracts.interpreter import python_module

INIT_TIMEOUT_S = 60.0
PROBE_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class ServicePlan:
    """How to start one service and how to tell that it is up."""

    name: str
    argv: list[str]
    probe: Callable[[], Awaitable[bool]]
    env: dict[str, str] = field(default_factory=dict)
    """Added to the supervisor's own."""
    log: str = ""
    """Relative to MOSAIC_HOME."""
    port: int | None = None
    """Where it listens, to name a clash."""
    stop_s: float = 15.0
    """From SIGTERM to SIGKILL."""
    mark: str = ""
    """A word of its command line by which it is known again, where its program replaces itself by another."""


@dataclass(frozen=True)
class StackPlan:
    """All services and the check that the whole is ready."""

    ports: Ports
    services: list[ServicePlan]
    probe: Callable[[], Awaitable[bool]]


class Probes:
    """Asks the services how they are. Nothing but an answer counts."""

    def __init__(self, layout: Layout, ports: Ports) -> None:
        self._layout = layout
        self._ports = ports
        self._http = httpx.AsyncClient(trust_env=False, timeout=PROBE_TIMEOUT_S)

    async def broker(self) -> bool:
        """The broker greets a client, and JetStream is up.

        It listens once its streams are recovered. Its monitor, which would say the same, asks for no credential.
        """
        return await greets(HOST, self._ports.broker)

    async def gateway(self) -> bool:
        """The gateway answers."""
        return await self._is_ok(f"{self._ports.gateway_url}/healthz")

    async def ready(self) -> bool:
        """Every service answers every other."""
        return await self._is_ok(f"{self._ports.gateway_url}/readyz")

    def behind_gateway(self, service: str) -> Callable[[], Awaitable[bool]]:
        """A probe for a service without a port of its own: the gateway reaches it over the broker."""

        async def probe() -> bool:
            try:
                token = self._layout.token_file.read_text("utf-8").strip()
                response = await self._http.get(
                    f"{self._ports.gateway_url}/api/v1/stack",
                    headers={"Authorization": f"Bearer {token}"},
                )
                return response.is_success and response.json().get(service) is not None
            except (OSError, httpx.HTTPError, ValueError):
                return False

        return probe

    async def _is_ok(self, url: str) -> bool:
        try:
            return (await self._http.get(url)).status_code == 200
        except httpx.HTTPError:
            return False


def plan_stack(layout: Layout, ports: Ports) -> StackPlan:
    """Plan the real services.

    Raises:
        EnvironmentMissing: a room's environment was not made.
        StackStartProblem: the broker's configuration cannot be made.
    """
    programs = {
        room: layout.program(room, "python") for room in ("recorder", "scheduler", "gateway")
    }
    server = layout.program("broker", "nats-server")
    config = _init_broker(layout, ports, programs["scheduler"])
    probes = Probes(layout, ports)

    def service(name: str, probe: Callable[[], Awaitable[bool]], **more: int) -> ServicePlan:
        return ServicePlan(
            name=name,
            argv=python_module(programs[name], f"mosaic_{name}"),
            probe=probe,
            env=_service_env(layout, ports, name),
            log=layout.log(name),
            port=more.get("port"),
        )

    return StackPlan(
        ports=ports,
        services=[
            ServicePlan(
                name="broker",
                argv=[server, "-c", config],
                probe=probes.broker,
                log=layout.log("broker"),
                port=ports.broker,
            ),
            service("recorder", probes.behind_gateway("recorder")),
            service("scheduler", probes.behind_gateway("scheduler")),
            service("gateway", probes.gateway, port=ports.gateway),
        ],
        probe=probes.ready,
    )


def _service_env(layout: Layout, ports: Ports, name: str) -> dict[str, str]:
    return {
        "MOSAIC_HOME": str(layout.home),
        "MOSAIC_ROOT": str(layout.root),
        "MOSAIC_VENVS": str(layout.venvs),
        "MOSAIC_BROKER_URL": ports.broker_url,
        "MOSAIC_CREDS": str(layout.home / "secrets" / "broker" / f"{name}.creds"),
        "MOSAIC_GATEWAY_PORT": str(ports.gateway),
    }


def _init_broker(layout: Layout, ports: Ports, python: str) -> str:
    argv = python_module(python, "mosaic_servicekit.broker", "init", "--home", str(layout.home))
    argv += ["--port", str(ports.broker)]
    environ = {**os.environ, "MOSAIC_HOME": str(layout.home)}
    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=INIT_TIMEOUT_S,
            env=environ,
            check=True,
        )
        return str(json.loads(done.stdout)["config"])
    except subprocess.CalledProcessError as error:
        said = (error.stderr or "").strip().splitlines()
        reason = said[-1] if said else f"exit code {error.returncode}"
    except (subprocess.TimeoutExpired, OSError, ValueError, KeyError) as error:
        reason = str(error) or type(error).__name__
    raise StackStartProblem(
        f"The broker's configuration could not be made: {reason}. "
        "Is the scheduler's environment whole? `./mosaic sync scheduler` makes it again."
    )
