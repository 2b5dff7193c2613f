"""The stack's XMPP server, for who asked for one: Debian's ejabberd, started by services/xmpp/run.sh."""

import asyncio
import shutil
from pathlib import Path

from pydantic import ValidationError

from mosaic_cli.errors import EjabberdMissing
from mosaic_cli.stack.layout import Layout
from mosaic_cli.stack.plan import ServicePlan
from mosaic_cli.stack.ports import HOST, free_port
from mosaic_contracts.xmpp import SERVER_FILE, XmppServer

NAME = "xmpp"
DOMAIN = "localhost"
PACKAGES = "sudo apt-get install --no-install-recommends ejabberd openssl"
_LAST_FILE = f"{SERVER_FILE}.last"
_INSTALLED = "*/ejabberd-*/ebin"
_MARK = "ejabberd@localhost"
"""In the server's command line, whatever program that is by then."""
_PROBE_S = 5.0
_HEADER = (
    f"<?xml version='1.0'?><stream:stream to='{DOMAIN}' xmlns='jabber:client' "
    "xmlns:stream='http://etherx.jabber.org/streams' version='1.0'>"
)


def is_wanted(layout: Layout) -> bool:
    """Whether a person asked for the server; it then comes up with every start of the stack."""
    return _wish(layout).exists()


def want(layout: Layout) -> None:
    """Ask for it.

    Raises:
        EjabberdMissing: there is none on this machine.
    """
    require_installed()
    folder = _wish(layout).parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _wish(layout).touch()


def unwant(layout: Layout) -> bool:
    """Ask for it no longer; whether somebody had. The scheduler then knows of no server."""
    had = is_wanted(layout)
    _wish(layout).unlink(missing_ok=True)
    return had


def forget_server(layout: Layout) -> None:
    """Take away what tells the scheduler where it is; its accounts stay, and its ports for the next time."""
    if (layout.home / SERVER_FILE).exists():
        (layout.home / SERVER_FILE).replace(layout.home / _LAST_FILE)


def is_installed(libraries: Path = Path("/usr/lib")) -> bool:
    """Whether this machine has all that the server needs."""
    programs = all(shutil.which(program) for program in ("erl", "openssl"))
    return programs and any(libraries.glob(_INSTALLED))


def require_installed() -> None:
    """Raises EjabberdMissing with what to do."""
    if not is_installed():
        raise EjabberdMissing(
            f"ejabberd is not installed on this machine. On Debian and Ubuntu: {PACKAGES}\n"
            "The package's own server is not needed: sudo systemctl disable --now ejabberd"
        )


def known_server(layout: Layout) -> XmppServer | None:
    """What its last start wrote; None when it cannot be read."""
    return _read_server(layout.home / SERVER_FILE)


def plan_xmpp(layout: Layout) -> ServicePlan:
    """How to start it: on the ports of the last time where they are free, else on others."""
    known = known_server(layout) or _read_server(layout.home / _LAST_FILE)
    api_port = int(known.api_url.rpartition(":")[2].partition("/")[0]) if known else None
    port = free_port(known.port if known else None)
    return ServicePlan(
        name=NAME,
        argv=[str(layout.root / "services" / "xmpp" / "run.sh")],
        probe=lambda: offers_login(port),
        env={
            "XMPP_HOME": str(_wish(layout).parent),
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


def _read_server(path: Path) -> XmppServer | None:
    try:
        return XmppServer.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


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


def _wish(layout: Layout) -> Path:
    return layout.home / "xmpp" / "wanted"
