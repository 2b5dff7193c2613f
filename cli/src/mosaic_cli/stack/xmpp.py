"""How the supervisor starts the stack's XMPP server: Debian's ejabberd, by services/xmpp/run.sh."""

import asyncio

from mosaic_cli.stack.layout import Layout
from mosaic_cli.stack.plan import ServicePlan
from mosaic_cli.stack.ports import HOST, free_port
from mosaic_cli.stack.xmpp_wish import NAME, folder, known_server, last_server

DOMAIN = "localhost"
_MARK = "ejabberd@localhost"
"""In the server's command line, whatever program that is by then."""
_PROBE_S = 5.0
_HEADER = (
    f"<?xml version='1.0'?><stream:stream to='{DOMAIN}' xmlns='jabber:client' "
    "xmlns:stream='http://etherx.jabber.org/streams' version='1.0'>"
)


def plan_xmpp(layout: Layout) -> ServicePlan:
    """How to start it: on the ports of the last time where they are free, else on others."""
    known = known_server(layout) or last_server(layout)
    api_port = int(known.api_url.rpartition(":")[2].partition("/")[0]) if known else None
    port = free_port(known.port if known else None)
    return ServicePlan(
        name=NAME,
        argv=[str(layout.root / "services" / "xmpp" / "run.sh")],
        probe=lambda: offers_login(port),
        env={
            "XMPP_HOME": str(folder(layout)),
            "XMPP_DOMAIN": DOMAIN,
            "XMPP_HOST": HOST,
            "XMPP_BIND": HOST,
            "XMPP_PORT": str(port),
            "XMPP_API_HOST": HOST,
            "XMPP_API_PORT": str(free_port(api_port, {port})),
        },
        log=layout.log(NAME),
        port=port,
        mark=_MARK,
    )


async def offers_login(port: int) -> bool:
    """Whether an agent could log in now: the server says so in its first words."""
    writer = None
    try:
        async with asyncio.timeout(_PROBE_S):
            reader, writer = await asyncio.open_connection(HOST, port)
            writer.write(_HEADER.encode())
            return b"starttls" in await reader.readuntil(b"</stream:features>")
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return False
    finally:
        if writer is not None:
            writer.transport.abort()
