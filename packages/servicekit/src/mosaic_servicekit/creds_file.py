"""Reads a creds file as nats-py's own reader should: again at each connect, and a flaw in it is an error.

nats-py 2.16 looks without end for lines that a damaged file lacks, and with it the whole event loop.
"""

import base64
from pathlib import Path
from typing import Any

import nats.errors
import nkeys  # type: ignore[import-untyped]  # ships no types

from mosaic_servicekit import jwt


class CredsFileDamaged(nats.errors.Error):
    """A creds file is missing or no creds file; one of nats-py's errors, so that it tries again later."""


class CredsFile:
    """The credentials of one connection."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def options(self) -> dict[str, Any]:
        """For `nats.connect`."""
        return {"user_jwt_cb": self._jwt, "signature_cb": self._sign}

    def parts(self) -> jwt.CredsParts:
        """The file as it is now.

        Raises:
            CredsFileDamaged: it cannot be used; the message names it and says why.
        """
        try:
            return jwt.read_creds(self._path.read_text())
        except (OSError, ValueError, nkeys.NkeysError) as error:
            why = str(error) or type(error).__name__
            raise CredsFileDamaged(f"{self._path} is damaged: {why}") from error

    def _jwt(self) -> bytearray:
        return bytearray(self.parts().token.encode())

    def _sign(self, nonce: str) -> bytes:
        pair = nkeys.from_seed(bytearray(self.parts().seed.encode()))
        return base64.b64encode(pair.sign(nonce.encode()))
