"""Address, token and certificate of a stack."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import ValidationError

from mosaic_base.data_root import find_data_root
from mosaic_contracts.http_api import FRAMES_PATH, LIVE_PATH
from mosaic_contracts.stack import STACK_FILE, TOKEN_FILE, StackFile
from mosaic_gui.errors import ArgumentInvalid, StackUnknown, TokenFileUnreadable
from mosaic_gui.state.language import tr

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class StackLocation:
    """Address and token of a stack's gateway."""

    url: str
    """`http://127.0.0.1:<port>`, no slash at the end."""
    token: str = field(repr=False)
    ca_file: Path | None = None
    """Certificate, or those of an authority, that are trusted in addition to the system's."""

    @property
    def live_url(self) -> str:
        """Address of the WebSocket."""
        return "ws" + self.url.removeprefix("http") + LIVE_PATH

    @property
    def frames_url(self) -> str:
        """Address of the WebSocket for pictures of environments."""
        return "ws" + self.url.removeprefix("http") + FRAMES_PATH

    @property
    def is_loopback(self) -> bool:
        """Whether the address is on this machine, so that no proxy may be used."""
        return urlsplit(self.url).hostname in _LOOPBACK


def data_root(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of this machine's own stack, which need not exist: see `mosaic_base.data_root`.

    Args:
        environ: environment variables.
    """
    return find_data_root(environ, _user_folder)


def _user_folder() -> Path:
    from platformdirs import user_data_path  # only where nothing else says it

    return user_data_path("mosaic")


def local_stack(home: Path) -> StackLocation:
    """The embedded stack of this data root.

    Raises:
        StackUnknown: none was ever started there, or its file is damaged.
        TokenUnreadable: its token cannot be read.
    """
    path = home / STACK_FILE
    try:
        stack = StackFile.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise StackUnknown(tr("No stack has been started for {folder} yet.", folder=home)) from None
    except (OSError, ValidationError) as error:
        raise StackUnknown(
            tr(
                "{file} cannot be read ({why}). Remove it and start the stack again.",
                file=path,
                why=type(error).__name__,
            )
        ) from error
    return StackLocation(stack.gateway_url.rstrip("/"), read_token(home / TOKEN_FILE))


def named_stack(
    url: str, token_file: Path | None, home: Path, ca_file: Path | None = None
) -> StackLocation:
    """A stack that the user named.

    Raises:
        ArgumentInvalid: the address is none.
        TokenUnreadable: there is no token for it.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ArgumentInvalid(
            tr("{address} is no address like http://127.0.0.1:8420.", address=repr(url))
        )
    if token_file is None and parts.hostname not in _LOOPBACK:
        raise TokenFileUnreadable(
            tr(
                "{host} is another machine, and this one's token is not for it: name a copy of its "
                "secrets/gateway.token (--token-file).",
                host=parts.hostname,
            )
        )
    return StackLocation(url.rstrip("/"), read_token(token_file or home / TOKEN_FILE), ca_file)


def read_token(path: Path) -> str:
    """The token in a file.

    Raises:
        TokenUnreadable: there is none.
    """
    try:
        token = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise TokenFileUnreadable(
            tr(
                "The token file {file} cannot be read ({why}). A stack on this machine makes it at "
                "its first start; for one elsewhere name a copy of its secrets/gateway.token.",
                file=path,
                why=type(error).__name__,
            )
        ) from error
    if not token or any(c.isspace() for c in token):
        raise TokenFileUnreadable(tr("{file} holds no token. Name the right file.", file=path))
    return token
