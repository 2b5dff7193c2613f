"""How the services of a stack are, by what they answer. Nothing but an answer counts."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

from mosaic_base.broker_tls import client_context
from mosaic_cli.stack.greeting import greets
from mosaic_cli.stack.http_probe import Answer, get_json
from mosaic_cli.stack.ports import HOST, Ports
from mosaic_contracts.http_api import READY


class Probes:
    """Asks the services. A caller that asks while a request is under way gets the answer to that request."""

    def __init__(self, ports: Ports, broker_ca: Path | None = None) -> None:
        self._ports = ports
        self._broker_ca = broker_ca
        self._asking: asyncio.Task[Answer | None] | None = None

    async def broker(self) -> bool:
        """The broker greets a client, and JetStream is up.

        It listens once its streams are recovered. Its monitor, which would say the same, asks for no credential.
        """
        ca = self._broker_ca
        if ca is None:
            return await greets(HOST, self._ports.broker)
        try:
            context = client_context(ca.read_text())
        except (OSError, ssl.SSLError):
            return False  # made at this moment; the services' logs say so of one that is damaged
        return await greets(self._ports.broker_host, self._ports.broker, context)

    async def gateway(self) -> bool:
        """The gateway answers."""
        return await self._ask() is not None

    async def ready(self) -> bool:
        """Every service answers every other."""
        answer = await self._ask()
        return answer is not None and answer.status == 200

    def behind_gateway(self, service: str) -> Callable[[], Awaitable[bool]]:
        """A probe for a service without a port of its own: the gateway reaches it over the broker."""

        async def probe() -> bool:
            answer = await self._ask()
            services = None if answer is None else answer.content.get("services")
            return isinstance(services, dict) and services.get(service) is True

        return probe

    async def _ask(self) -> Answer | None:
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(get_json(HOST, self._ports.gateway, READY.path))
        # shielded, for others may wait for the same answer
        return await asyncio.shield(self._asking)
