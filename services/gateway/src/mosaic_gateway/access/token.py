"""What this stack's door is locked with, bearer token and ticket key: files that only their owner can read, made at
first start."""

import os
import secrets
from pathlib import Path

from mosaic_gateway.errors import TokenFileInvalid

_TOKEN_BYTES = 32
_MIN_LENGTH = 20


def _create(path: Path) -> None:
    """Write a new token; another gateway that was faster wins."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(fd, "w") as file:
            file.write(secrets.token_urlsafe(_TOKEN_BYTES) + "\n")
            file.flush()
            os.fsync(file.fileno())
        # A link is created or refused at once and complete: nobody ever reads half a token.
        os.link(draft, path)
    except FileExistsError:
        return
    finally:
        draft.unlink()


def load_token(path: Path) -> str:
    """Read the token of `path`, after making one if there is none.

    Raises:
        TokenFileInvalid: it cannot be made or read, others may read it, or its content is no token.
    """
    try:
        if not path.exists():
            _create(path)
        with path.open() as file:
            mode = os.fstat(file.fileno()).st_mode & 0o777
            token = file.read(4096).strip()
    except OSError as error:
        raise TokenFileInvalid(
            f"{path} cannot be made or read ({error.strerror}); give this user the folder, or set MOSAIC_HOME"
        ) from error
    if mode & 0o077:
        raise TokenFileInvalid(
            f"{path} can be read by others (mode {mode:04o}); run chmod 600 on it, or delete it for a new one"
        )
    if len(token) < _MIN_LENGTH or not token.isascii() or any(c.isspace() for c in token):
        raise TokenFileInvalid(f"{path} holds no usable token; delete it and start again")
    return token
