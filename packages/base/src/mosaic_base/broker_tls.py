"""TLS to the broker: how a client asks for it, and what went wrong in words.

The client speaks TLS before it reads a byte of the server. A server that answers in clear text, or somebody between the
two, can therefore not talk it out of TLS.
"""

import logging
import ssl
from typing import Any

SCHEME = "tls://"
_NOISE = "returning true from eof_received()"


def tls_options(url: str, ca_pem: str | None) -> dict[str, Any]:
    """Options of nats-py for a connection to `url`.

    Args:
        url: `tls://HOST:PORT`; any other scheme gives no options.
        ca_pem: certificates (PEM) of the only authorities to trust; None: those that the system trusts.

    Raises:
        ssl.SSLError: `ca_pem` holds no certificate.
    """
    if not url.startswith(SCHEME):
        return {}
    # The same filter is added once, however often this is called.
    logging.getLogger("asyncio").addFilter(_is_of_use)
    return {"tls": client_context(ca_pem), "tls_handshake_first": True}


def _is_of_use(record: logging.LogRecord) -> bool:
    """Leave out what asyncio says of each connection that nats-py upgraded to TLS and the server closed."""
    return _NOISE not in str(record.msg)


def client_context(ca_pem: str | None) -> ssl.SSLContext:
    """A context that checks certificate and host name of the server. Raises ssl.SSLError as `tls_options`."""
    return ssl.create_default_context(cadata=ca_pem)


def distrust_of(error: object) -> str | None:
    """Why TLS to the broker cannot be spoken, in words; None: the error is about something else."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS cannot be spoken with it: {error.reason or error}"
    return None
