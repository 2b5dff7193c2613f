"""What the supervisor starts: one plan a service."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from mosaic_cli.stack.broker_setup import BrokerSetup
from mosaic_cli.stack.layout import Layout
from mosaic_cli.stack.ports import Ports, default_runs_url
from mosaic_cli.stack.probes import Probes
from mosaic_contracts.interpreter import python_module
from mosaic_contracts.stack_files import BROKER_SECRETS


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
    after: asyncio.Event | None = None
    """What its first start waits for."""
    mark: str = ""
    """A word of its command line by which it is known again, where its program replaces itself by another."""


@dataclass(frozen=True)
class StackPlan:
    """All services and the check that the whole is ready."""

    ports: Ports
    services: list[ServicePlan]
    """In the order in which they are shown; they end in the reverse order."""
    probe: Callable[[], Awaitable[bool]]
    setup: BrokerSetup | None = None


def plan_stack(layout: Layout, ports: Ports, broker_runs_url: str | None = None) -> StackPlan:
    """Plan the real services.

    `broker_runs_url`: how runs reach the broker; None: as services do, but jobs of a cluster by this machine's name.

    Raises:
        EnvironmentMissing: a room's environment was not made.
    """
    programs = {
        room: layout.program(room, "python") for room in ("recorder", "scheduler", "gateway")
    }
    server = layout.program("broker", "nats-server")
    if broker_runs_url is None and os.environ.get("MOSAIC_PLACEMENT") in ("slurm", "ray"):
        broker_runs_url = default_runs_url(ports)
    setup = BrokerSetup(layout, ports, programs["scheduler"], broker_runs_url)
    probes = Probes(ports, setup.ca)

    def service(name: str, probe: Callable[[], Awaitable[bool]], **more: int) -> ServicePlan:
        return ServicePlan(
            name=name,
            argv=python_module(programs[name], f"mosaic_{name}"),
            probe=probe,
            env={**_service_env(layout, ports, name), **_broker_env(setup.ca, broker_runs_url)},
            log=layout.log(name),
            port=more.get("port"),
            # else it begins with the credentials of the last start, while they are written again
            after=setup.done if setup.is_first else None,
        )

    return StackPlan(
        ports=ports,
        services=[
            ServicePlan(
                name="broker",
                argv=[server, "-c", str(setup.config)],
                probe=probes.broker,
                log=layout.log("broker"),
                port=ports.broker,
                after=setup.done,
            ),
            service("recorder", probes.behind_gateway("recorder")),
            service("scheduler", probes.behind_gateway("scheduler")),
            service("gateway", probes.gateway, port=ports.gateway),
        ],
        probe=probes.ready,
        setup=setup,
    )


def _broker_env(ca: Path | None, runs_url: str | None) -> dict[str, str]:
    """What services and runs trust of the broker, and where runs find it. Always set, for a shell may have others."""
    return {
        "MOSAIC_BROKER_CA": "" if ca is None else str(ca),
        "MOSAIC_BROKER_RUNS_URL": runs_url or "",
    }


def _service_env(layout: Layout, ports: Ports, name: str) -> dict[str, str]:
    return {
        "MOSAIC_HOME": str(layout.home),
        "MOSAIC_ROOT": str(layout.root),
        "MOSAIC_VENVS": str(layout.venvs),
        "MOSAIC_BROKER_URL": ports.broker_url,
        "MOSAIC_CREDS": str(layout.home / BROKER_SECRETS / f"{name}.creds"),
        "MOSAIC_GATEWAY_PORT": str(ports.gateway),
    }
