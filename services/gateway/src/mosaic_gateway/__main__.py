"""`python -m mosaic_gateway`."""

import asyncio
import logging
import sys
from pathlib import Path
from typing import NamedTuple

from mosaic_base.imports import large_imports

with large_imports(
    on_use=[
        "nats.js",  # 25 ms of CPU time; JetStream is the recorder's
        "numpy",  # 60 ms; for curves
        "httpx",  # 35 ms; for dashboards, syncs and sweeps, which few stacks have
    ]
):
    import mosaic_gateway
    from mosaic_gateway.access.guard import LOOPBACK_HOSTS
    from mosaic_gateway.access.token import load_token
    from mosaic_gateway.api.app import create_app
    from mosaic_gateway.errors import AddressTaken, GatewayError
    from mosaic_gateway.log_budget import LibraryLog
    from mosaic_gateway.server.connections import (
        Connections,
        ListeningSocket,
        limits_for,
        raise_file_limit,
    )
    from mosaic_gateway.server.server import bind, make_server
    from mosaic_gateway.services import assemble
    from mosaic_gateway.settings import GatewaySettings
    from mosaic_servicekit.bus import Bus
    from mosaic_servicekit.certificate import check_pair, own_certificate
    from mosaic_servicekit.errors import ServiceRefused
    from mosaic_servicekit.lifecycle import Service, refuse, run_service
    from mosaic_servicekit.logging import configure_logging, get_log, redactor

CLOSE_S = 4.0
"""For clients to take the goodbye; who does not read is cut off."""

FIRST_CONNECTION_S = 1.0
"""For a broker that is there to answer. Without one the gateway serves what is stored."""


class Endpoint(NamedTuple):
    """Where it is listened, and with which certificate and key."""

    name: str
    listener: ListeningSocket
    tls: tuple[Path, Path] | None


def open_endpoints(settings: GatewaySettings) -> list[Endpoint]:
    """Listen; a certificate is made where one of the gateway's own is asked for.

    Raises:
        GatewayError: a port is taken.
        CertificateUnusable: TLS cannot be spoken.
    """
    pair = settings.tls_pair
    if settings.tls and pair:
        own_certificate(*pair, (*LOOPBACK_HOSTS, *settings.host_names))
    endpoints = [Endpoint("http", bind(settings.gateway_port, settings.plain_bind), None)]
    if pair:
        check_pair(*pair)
        endpoints.append(Endpoint("https", bind(settings.tls_port, settings.bind), pair))
    return endpoints


async def serve_gateway(
    service: Service,
    settings: GatewaySettings,
    token: str,
    ticket_key: str,
    endpoints: list[Endpoint],
) -> None:
    """Serve until the service is asked to stop; then close streams, drain requests, leave the broker."""
    bus = Bus(settings.url, "gateway", settings.creds, settings.broker_ca)
    services = assemble(settings, bus, ticket_key.encode())
    await asyncio.to_thread(services.uploads.sweep)
    connections = Connections(limits_for(raise_file_limit()))
    for endpoint in endpoints:
        endpoint.listener.count_in(connections)
    app = create_app(services, token, connections)
    servers = [make_server(app, tls=endpoint.tls) for endpoint in endpoints]
    await bus.start()
    await _wait_for_broker(bus)
    service.spawn("hub", services.hub.run())
    service.spawn("sweeps", services.drivers.run())
    service.spawn("syncs", services.syncs.run())
    serving = [
        service.spawn(endpoint.name, server.serve(sockets=[endpoint.listener]))
        for endpoint, server in zip(endpoints, servers, strict=True)
    ]
    get_log().info(
        "gateway.started",
        port=settings.gateway_port,
        tls_port=settings.tls_port if settings.tls_pair else None,
        version=mosaic_gateway.VERSION,
        connections=connections.limits._asdict(),
    )
    await service.stop.wait()
    try:
        async with asyncio.timeout(CLOSE_S):
            await services.close_streams()
    except TimeoutError:
        get_log().info("clients.cut_off")
    for server in servers:
        server.should_exit = True
    await asyncio.gather(*serving, return_exceptions=True)
    await services.close()
    get_log().info("gateway.stopped")


async def _wait_for_broker(bus: Bus) -> None:
    """Wait for the first connection, so that no client of a restarted gateway gets an error in its first moment."""
    try:
        async with asyncio.timeout(FIRST_CONNECTION_S):
            await bus.connected.wait()
    except TimeoutError:
        get_log().info("broker.not_there", waited_s=FIRST_CONNECTION_S)


def main() -> int:
    """Entry point; the exit code."""
    try:
        settings = GatewaySettings.load()
        configure_logging("gateway", settings.log_format)
        logging.getLogger().addHandler(LibraryLog())
        logging.captureWarnings(True)
        endpoints = open_endpoints(settings)
        token = load_token(settings.token_path)
        ticket_key = load_token(settings.ticket_key_path)
    except AddressTaken as error:
        get_log().error("gateway.cannot_start", error=str(error))
        return 1  # whoever has the port may leave it
    except GatewayError as error:
        return refuse(ServiceRefused(str(error)))
    except ServiceRefused as error:
        return refuse(error)
    redactor.hide(token)
    redactor.hide(ticket_key)
    return run_service(
        lambda service: serve_gateway(service, settings, token, ticket_key, endpoints)
    )


if __name__ == "__main__":
    sys.exit(main())
