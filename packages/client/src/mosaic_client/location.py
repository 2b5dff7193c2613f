"""Where the stack is: its address and the token that it asks for."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import ValidationError

from mosaic_client.errors import StackUnreachable, TokenUnreadable
from mosaic_contracts.stack import STACK_FILE, TOKEN_FILE, StackFile

START_HINT = "Start one with `./mosaic up -d`."
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Location:
    """One stack's door."""

    url: str
    """`http://127.0.0.1:<port>`, no slash at the end."""
    token: str = field(repr=False)

    @property
    def live_url(self) -> str:
        """Address of the WebSocket."""
        return "ws" + self.url.removeprefix("http") + "/api/v1/live"

    @property
    def is_loopback(self) -> bool:
        """Whether the stack is on this machine; a proxy of the environment must not come between."""
        return urlsplit(self.url).hostname in _LOOPBACK


def data_root(environ: Mapping[str, str] = os.environ) -> Path:
    """MOSAIC_HOME, else `var` of the checkout or of the current folder."""
    if home := environ.get("MOSAIC_HOME"):
        return Path(home).expanduser().absolute()
    return Path(environ.get("MOSAIC_ROOT") or Path.cwd()) / "var"


def read_stack_file(home: Path) -> StackFile | None:
    """What the supervisor of this data root last wrote; None when there never was one.

    Raises:
        StackUnreachable: the file cannot be read or is damaged.
    """
    path = home / STACK_FILE
    try:
        return StackFile.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise StackUnreachable(
            f"{path} cannot be read ({type(error).__name__}). Remove it and start again: `./mosaic up -d`."
        ) from error


def find_stack(environ: Mapping[str, str] = os.environ) -> Location:
    """Find the stack: MOSAIC_URL with MOSAIC_TOKEN_FILE, else the one under MOSAIC_HOME.

    Raises:
        StackUnreachable: there is none.
        TokenUnreadable: its token cannot be read.
    """
    home = data_root(environ)
    url = environ.get("MOSAIC_URL")
    if url:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise StackUnreachable(
                f"MOSAIC_URL is {url!r}, which is no address like http://127.0.0.1:8420."
            )
        if parts.hostname not in _LOOPBACK and not environ.get("MOSAIC_TOKEN_FILE"):
            raise TokenUnreadable(
                f"{parts.hostname} is another machine, and this one's token is not for it: set "
                "MOSAIC_TOKEN_FILE to a copy of its token."
            )
    else:
        stack = read_stack_file(home)
        if stack is None:
            raise StackUnreachable(f"No stack is up for {home}. {START_HINT}")
        url = stack.gateway_url
    token_file = Path(environ.get("MOSAIC_TOKEN_FILE") or home / TOKEN_FILE)
    return Location(url=url.rstrip("/"), token=_read_token(token_file))


def _read_token(path: Path) -> str:
    try:
        token = path.read_text("utf-8").strip()
    except OSError as error:
        raise TokenUnreadable(
            f"The token file {path} cannot be read ({error.strerror}). A stack on this machine makes it at its "
            "first start (`./mosaic up -d`); for one elsewhere set MOSAIC_TOKEN_FILE to a copy of its token."
        ) from error
    if not token or any(c.isspace() for c in token):
        raise TokenUnreadable(f"{path} holds no token. Name the right file with MOSAIC_TOKEN_FILE.")
    return token
