"""Address, token and certificate of a stack."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from mosaic_base.data_root import find_data_root
from mosaic_base.locks import is_locked
from mosaic_contracts.gateway_address import (
    AddressFault,
    AddressInvalid,
    checked_address,
    frames_address,
    host_of,
    is_loopback,
    live_address,
    token_in,
)
from mosaic_contracts.stack import STACK_FILE, STACK_LOCK, TOKEN_FILE, StackFile
from mosaic_gui.errors import ArgumentInvalid, StackUnknown, TokenFileUnreadable
from mosaic_gui.state.language import tr


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
        return live_address(self.url)

    @property
    def frames_url(self) -> str:
        """Address of the WebSocket for pictures of environments."""
        return frames_address(self.url)

    @property
    def is_loopback(self) -> bool:
        """Whether the address is on this machine, so that no proxy may be used."""
        return is_loopback(self.url)


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


def is_supervised(home: Path) -> bool:
    """Whether a supervisor of this machine's stack lives, which restarts a service that does not answer."""
    try:
        return is_locked(home / STACK_LOCK)
    except OSError:
        return False  # no stack was started there


def named_stack(
    url: str, token_file: Path | None, home: Path, ca_file: Path | None = None
) -> StackLocation:
    """A stack that the user named.

    Raises:
        ArgumentInvalid: the address is none.
        TokenUnreadable: there is no token for it.
    """
    try:
        address = checked_address(url)
    except AddressInvalid as error:
        if error.fault is AddressFault.EXTRA_PARTS:
            raise ArgumentInvalid(
                tr(
                    "The address of a stack has neither user, query nor fragment: {address} would be one.",
                    address=error.shown,
                )
            ) from error
        raise ArgumentInvalid(
            tr("{address} is no address like http://127.0.0.1:8420.", address=repr(url))
        ) from error
    if token_file is None and not is_loopback(address):
        raise TokenFileUnreadable(
            tr(
                "{host} is another machine, and this one's token is not for it: name a copy of its "
                "secrets/gateway.token (--token-file).",
                host=host_of(address),
            )
        )
    return StackLocation(address, read_token(token_file or home / TOKEN_FILE), ca_file)


def read_token(path: Path) -> str:
    """The token in a file.

    Raises:
        TokenUnreadable: there is none.
    """
    try:
        token = token_in(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise TokenFileUnreadable(
            tr(
                "The token file {file} cannot be read ({why}). A stack on this machine makes it at "
                "its first start; for one elsewhere name a copy of its secrets/gateway.token.",
                file=path,
                why=type(error).__name__,
            )
        ) from error
    if token is None:
        raise TokenFileUnreadable(tr("{file} holds no token. Name the right file.", file=path))
    return token
