"""Whether agents could log in now, and if not, what is wrong: name, port, TLS or account."""

import asyncio
import ssl

from mosaic_contracts.xmpp import XmppServer
from mosaic_scheduler.errors import XmppUnavailable
from mosaic_scheduler.xmpp.account_api import AccountApi
from mosaic_scheduler.xmpp.server import START, KnownServer

TIMEOUT_S = 5.0
"""For each step; a server on this machine takes milliseconds."""
_HEADER = (
    "<?xml version='1.0'?><stream:stream to='{}' xmlns='jabber:client' "
    "xmlns:stream='http://etherx.jabber.org/streams' version='1.0'>"
)
_STARTTLS = "<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"


async def examine(server: KnownServer) -> None:
    """Do what an agent does up to its login, and what we do to give it an account.

    Raises:
        XmppUnavailable: with the part that is wrong.
    """
    facts = server.facts
    where = f"{facts.host}:{facts.port}"
    writer = None
    try:
        address = await _resolve(facts)
        reader, writer = await _connect(facts, address)
        await _exchange(reader, writer, _HEADER.format(facts.domain), b"</stream:features>", where)
        await _exchange(reader, writer, _STARTTLS, b"<proceed", where)
        await _encrypt(writer, server, where)
    finally:
        if writer is not None:
            writer.transport.abort()
    await AccountApi(server).prove()


async def _resolve(facts: XmppServer) -> str:
    try:
        async with asyncio.timeout(TIMEOUT_S):
            found = await asyncio.get_running_loop().getaddrinfo(facts.host, facts.port)
    except (OSError, TimeoutError) as error:
        message = f"The server's name {facts.host!r} has no address ({_words(error)})."
        raise XmppUnavailable("name", message, START) from error
    return str(found[0][4][0])


async def _connect(
    facts: XmppServer, address: str
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    try:
        async with asyncio.timeout(TIMEOUT_S):
            return await asyncio.open_connection(address, facts.port)
    except (OSError, TimeoutError) as error:
        message = (
            f"No program answers on port {facts.port} of {facts.host} ({address}): {_words(error)}."
        )
        raise XmppUnavailable("port", message, START) from error


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, text: str, end: bytes, where: str
) -> None:
    writer.write(text.encode())
    try:
        async with asyncio.timeout(TIMEOUT_S):
            await reader.readuntil(end)
    except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        message = f"The program at {where} is not an XMPP server for this domain ({_words(error)})."
        todo = "Find out who listens there (`ss -ltnp`), then `./mosaic xmpp down` and `up`."
        raise XmppUnavailable("port", message, todo) from error


async def _encrypt(writer: asyncio.StreamWriter, server: KnownServer, where: str) -> None:
    try:
        context = ssl.create_default_context(cadata=server.certificate)
        async with asyncio.timeout(TIMEOUT_S):
            await writer.start_tls(context, server_hostname=server.facts.domain)
    except (ssl.SSLError, OSError, TimeoutError) as error:
        message = (
            f"TLS with {where} fails: {_words(error)}. The certificate that this stack knows is for "
            f"{server.facts.domain!r}."
        )
        todo = "Start the server again; it then saves the certificate that it uses."
        raise XmppUnavailable("tls", message, todo) from error


def _words(error: BaseException) -> str:
    return str(error) or "no answer" if not isinstance(error, TimeoutError) else "no answer"
