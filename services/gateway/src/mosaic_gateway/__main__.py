"""`python -m mosaic_gateway`."""

import asyncio
import socket
import sys

import mosaic_gateway
from mosaic_gateway.access_token import load_token
from mosaic_gateway.app import create_app
from mosaic_gateway.assembly import assemble, close_parts
from mosaic_gateway.errors import GatewayError
from mosaic_gateway.server import bind, make_server
from mosaic_gateway.settings import GatewaySettings
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.errors import SettingsInvalid
from mosaic_servicekit.lifecycle import Service, run_service
from mosaic_servicekit.logging import configure_logging, get_log, redactor

CLOSE_S = 2.0
"""For clients to take the goodbye; who does not read is cut off."""


async def serve_gateway(
    service: Service,
    settings: GatewaySettings,
    token: str,
    ticket_key: str,
    listener: socket.socket,
) -> None:
    """Serve until the service is told to stop; then close streams, drain requests, leave the broker."""
    bus = Bus(str(settings.broker_url).rstrip("/"), "gateway", settings.creds)
    parts = assemble(settings, bus, ticket_key.encode())
    server = make_server(create_app(parts, token), tls=settings.tls)
    await bus.start()
    service.spawn("hub", parts.hub.run())
    serving = service.spawn("http", server.serve(sockets=[listener]))
    get_log().info("gateway.started", port=settings.gateway_port, version=mosaic_gateway.VERSION)
    await service.stop.wait()
    try:
        async with asyncio.timeout(CLOSE_S):
            await parts.hub.close()
    except TimeoutError:
        get_log().info("clients.cut_off")
    server.should_exit = True
    await asyncio.gather(serving, return_exceptions=True)
    await close_parts(parts)
    get_log().info("gateway.stopped")


def main() -> int:
    """Entry point; the exit code."""
    try:
        settings = GatewaySettings.load()
        configure_logging("gateway", settings.log_format)
        listener = bind(settings.gateway_port, settings.bind)
        token = load_token(settings.token_path)
        ticket_key = load_token(settings.ticket_key_path)
    except (GatewayError, SettingsInvalid) as error:
        get_log().error("gateway.cannot_start", error=str(error))
        return 1
    redactor.hide(token)
    redactor.hide(ticket_key)
    return run_service(
        lambda service: serve_gateway(service, settings, token, ticket_key, listener)
    )


if __name__ == "__main__":
    sys.exit(main())
