"""Whether this data root is to have an XMPP server, whether this machine can, and what its last start wrote."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from mosaic_cli.errors import EjabberdMissing
from mosaic_cli.stack.layout import Layout
from mosaic_contracts.stack_files import XMPP_SERVER_FILE

if TYPE_CHECKING:
    from mosaic_contracts.xmpp import XmppServer

NAME = "xmpp"
PACKAGES = "sudo apt-get install --no-install-recommends ejabberd openssl"
_LAST_FILE = f"{XMPP_SERVER_FILE}.last"
_INSTALLED = "*/ejabberd-*/ebin"


def is_wanted(layout: Layout) -> bool:
    """Whether a person asked for the server; it then comes up with every start of the stack."""
    return _wish(layout).exists()


def want(layout: Layout) -> None:
    """Ask for it.

    Raises:
        EjabberdMissing: there is none on this machine.
    """
    require_installed()
    folder(layout).mkdir(mode=0o700, parents=True, exist_ok=True)
    _wish(layout).touch()


def unwant(layout: Layout) -> bool:
    """Ask for it no longer; whether somebody had. The scheduler then knows of no server."""
    had = is_wanted(layout)
    _wish(layout).unlink(missing_ok=True)
    return had


def forget_server(layout: Layout) -> None:
    """Move away the file with which the scheduler finds the server. Keep its accounts, and its ports for next time."""
    if (layout.home / XMPP_SERVER_FILE).exists():
        (layout.home / XMPP_SERVER_FILE).replace(layout.home / _LAST_FILE)


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


def known_server(layout: Layout) -> "XmppServer | None":
    """What its last start wrote; None when it cannot be read."""
    return _read_server(layout.home / XMPP_SERVER_FILE)


def last_server(layout: Layout) -> "XmppServer | None":
    """The same, of a server that was taken down: its ports are taken again where they are free."""
    return _read_server(layout.home / _LAST_FILE)


def folder(layout: Layout) -> Path:
    """The server's own folder."""
    return layout.home / "xmpp"


def _read_server(path: Path) -> "XmppServer | None":
    from pydantic import ValidationError

    from mosaic_contracts.xmpp import XmppServer

    try:
        return XmppServer.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def _wish(layout: Layout) -> Path:
    return folder(layout) / "wanted"
