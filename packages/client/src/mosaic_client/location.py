"""Where the stack is: its address and the token that it asks for."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mosaic_base.data_root import find_data_root
from mosaic_client.errors import StackUnreachable, TokenUnreadable
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
from mosaic_contracts.stack_files import STACK_FILE, TOKEN_FILE

if TYPE_CHECKING:
    from mosaic_contracts.stack import StackFile

START_HINT = "Start one with `./mosaic up -d`."


class Location(NamedTuple):
    """Address and token of one stack."""

    url: str
    """Address such as `http://127.0.0.1:<port>`, without a slash at the end."""
    token: str
    ca_file: Path | None = None
    """File with trusted certificates (PEM); None: those that this system trusts."""
    is_named: bool = False
    """Whether the user gave the address, and it is not that of this data root's own stack."""

    def __repr__(self) -> str:
        """Without the token."""
        return f"Location(url={self.url!r}, ca_file={self.ca_file!r}, is_named={self.is_named!r})"

    @property
    def live_url(self) -> str:
        """Address of the WebSocket."""
        return live_address(self.url)

    @property
    def frames_url(self) -> str:
        """Address of the WebSocket for frames."""
        return frames_address(self.url)

    @property
    def is_encrypted(self) -> bool:
        """Whether the connection uses TLS."""
        return self.url.startswith("https:")

    @property
    def is_loopback(self) -> bool:
        """Whether the stack is on this machine, so that no proxy may be used."""
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


def read_stack_file(home: Path) -> "StackFile | None":
    """Read what the supervisor of a data root last wrote about its stack.

    Args:
        home: the data root.

    Returns:
        The file's content; None when there never was a stack.

    Raises:
        StackUnreachable: the file cannot be read or is damaged.
    """
    from pydantic import ValidationError

    from mosaic_contracts.stack import StackFile

    written = stack_file_text(home)
    if written is None:
        return None
    try:
        return StackFile.model_validate_json(written)
    except ValidationError as error:
        raise stack_file_problem(home, error) from error


def stack_file_text(home: Path) -> bytes | None:
    """Return the content of stack.json; None if there is none.

    Raises:
        StackUnreachable: the file cannot be read.
    """
    try:
        return (home / STACK_FILE).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise stack_file_problem(home, error) from error


def stack_file_problem(home: Path, error: Exception) -> StackUnreachable:
    """Return the error for a stack.json that cannot be used."""
    if isinstance(error, PermissionError):
        return StackUnreachable(
            f"{home / STACK_FILE} cannot be read ({error.strerror}). {owner_hint(home / STACK_FILE)}".strip()
        )
    return StackUnreachable(
        f"{home / STACK_FILE} cannot be read ({type(error).__name__}). `./mosaic up -d` puts it right."
    )


def owner_hint(path: Path) -> str:
    """Say who owns a part of a data root and what to set, if it is another user; otherwise return nothing."""
    if sys.platform == "win32":
        return ""  # files have no numeric owner there
    place = path
    while not _is_visible(place) and place != place.parent:
        place = place.parent
    owner = place.stat().st_uid
    if owner == os.geteuid():
        return ""
    return (
        f"{place} belongs to {_user_name(owner)}, and you are {_user_name(os.geteuid())}. Set MOSAIC_HOME to a "
        "folder of your own, for example MOSAIC_HOME=~/mosaic."
    )


def _is_visible(path: Path) -> bool:
    try:
        path.stat()
    except OSError:
        return False
    return True


def _user_name(uid: int) -> str:
    if sys.platform == "win32":
        return str(uid)
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def gateway_url(home: Path) -> str | None:
    """Return the gateway's address in stack.json.

    Raises:
        StackUnreachable: the file cannot be read or is damaged.
    """
    written = stack_file_text(home)
    if written is None:
        return None
    try:
        url = json.loads(written)["gateway_url"]
    except (ValueError, KeyError, TypeError) as error:
        raise stack_file_problem(home, error) from error
    if not isinstance(url, str):
        raise stack_file_problem(home, TypeError())
    return url.rstrip("/")


def find_stack(
    environ: Mapping[str, str] = os.environ,
    *,
    url: str | None = None,
    token: str | None = None,
    token_file: Path | str | None = None,
    ca_file: Path | str | None = None,
) -> Location:
    """Find a stack: the one at `url`, else at MOSAIC_URL, else the one under MOSAIC_HOME.

    The token of this data root is sent to no other machine.

    Args:
        environ: environment variables.
        url: address of the stack.
        token: its token.
        token_file: file with its token; None: MOSAIC_TOKEN_FILE.
        ca_file: certificates (PEM) for an address that begins with https; None: MOSAIC_CA_FILE.

    Returns:
        Its address, token and certificates.

    Raises:
        StackUnreachable: there is none, or the address is not valid.
        TokenUnreadable: its token cannot be read.
        ValueError: both `token` and `token_file` are given.
    """
    if token is not None and token_file is not None:
        raise ValueError("give token or token_file, not both")
    home = data_root(environ)
    named = url or environ.get("MOSAIC_URL")
    file = token_file or environ.get("MOSAIC_TOKEN_FILE")
    if named:
        address = _checked_address(named)
        if not is_loopback(address) and not file and token is None:
            raise TokenUnreadable(
                f"{host_of(address)} is another machine, and this one's token is not for it: name a copy of its token "
                "with --token-file (MOSAIC_TOKEN_FILE)."
            )
    else:
        written = gateway_url(home)
        if written is None:
            raise StackUnreachable(f"No stack is up for {home}. {START_HINT}")
        address = written
    certificates = ca_file or environ.get("MOSAIC_CA_FILE")
    return Location(
        url=address,
        token=token if token is not None else _read_token(Path(file or home / TOKEN_FILE)),
        ca_file=Path(certificates).expanduser() if certificates else None,
        is_named=bool(named),
    )


def _checked_address(given: str) -> str:
    """An address without what a person may have copied with it. Raises StackUnreachable."""
    try:
        return checked_address(given)
    except AddressInvalid as error:
        if error.fault is AddressFault.EXTRA_PARTS:
            raise StackUnreachable(
                f"The address of a stack has neither user, query nor fragment: {error.shown} would be one."
            ) from error
        raise StackUnreachable(
            f"{given!r} is no address of a stack. It takes one like http://127.0.0.1:8080 or https://lab:8443, "
            "scheme and port included (--url, MOSAIC_URL)."
        ) from error


def _read_token(path: Path) -> str:
    try:
        token = token_in(path.expanduser().read_text("utf-8"))
    except PermissionError as error:
        raise TokenUnreadable(
            f"The token file {path} cannot be read ({error.strerror}). {owner_hint(path)}".strip()
        ) from error
    except OSError as error:
        raise TokenUnreadable(
            f"The token file {path} cannot be read ({error.strerror}). A stack on this machine makes it at its "
            "first start (`./mosaic up -d`); for one elsewhere name a copy of its token with --token-file "
            "(MOSAIC_TOKEN_FILE)."
        ) from error
    except UnicodeDecodeError:
        token = None
    if token is None:
        raise TokenUnreadable(
            f"{path} holds no token. Name the right file with --token-file (MOSAIC_TOKEN_FILE)."
        )
    return token
