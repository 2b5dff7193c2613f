"""Which certificates are believed, and in words what is wrong when TLS does not come about."""

import ssl
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from mosaic_client.errors import CertificateRefused, StackUnreachable
from mosaic_client.location import Location

# https://docs.openssl.org/master/man3/X509_STORE_CTX_get_error/
_NOT_YET_VALID, _EXPIRED = 9, 10
_OTHER_NAME, _OTHER_ADDRESS = 62, 64
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG")


def tls_context(location: Location) -> ssl.SSLContext:
    """Return the TLS context for HTTP and live connections. With a `ca_file`, only its certificates are trusted.

    With a `ca_file` nothing but what is in it is believed; else what this system and certifi believe.

    Raises:
        CertificateRefused: the file cannot be read as certificates.
    """
    if not location.is_encrypted:
        return _nobody()
    if location.ca_file is None:
        context = httpx.create_ssl_context()
        context.load_default_certs()
        return context
    try:
        return ssl.create_default_context(cafile=location.ca_file)
    except (OSError, ssl.SSLError) as error:
        reason = "no certificate is in it" if isinstance(error, ssl.SSLError) else error.strerror
        raise CertificateRefused(
            f"The certificate file {location.ca_file} cannot be used ({reason}). It takes a copy of the stack's "
            "secrets/gateway.crt, or of the authority that signed its certificate (PEM)."
        ) from error


@cache
def _nobody() -> ssl.SSLContext:
    # Plain HTTP needs no trust; to load the system's costs 20 ms.
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def tls_fault(location: Location, error: BaseException) -> StackUnreachable | None:
    """Return the error for a connection that failed because of TLS, or because TLS was missing. It is not retried."""
    for cause in _chain(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return CertificateRefused(_refused(location, cause))
        if isinstance(cause, ssl.SSLError) and (cause.reason or "") in _NO_TLS:
            return StackUnreachable(
                f"{location.url} does not speak TLS. Its address begins with http:// there; only what is on this "
                "machine or in a tunnel should be spoken to so."
            )
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _refused(location: Location, error: ssl.SSLCertVerificationError) -> str:
    name = urlsplit(location.url).hostname
    if error.verify_code in (_OTHER_NAME, _OTHER_ADDRESS):
        return (
            f"The certificate of {location.url} is for other names than {name}. Use one of its names, or add {name} to "
            "the gateway's MOSAIC_ALLOWED_HOSTS, start it again and copy its new secrets/gateway.crt."
        )
    if error.verify_code in (_NOT_YET_VALID, _EXPIRED):
        return (
            f"The certificate of {location.url} is not valid today ({error.verify_message}). "
            "Is the clock of this machine right? Else the stack needs a new one."
        )
    known = _named_file(location.ca_file)
    return (
        f"The certificate of {location.url} is not known here ({error.verify_message}). {known} copy the stack's "
        "secrets/gateway.crt over a way that you trust, and name the copy with --ca-file (MOSAIC_CA_FILE)."
    )


def _named_file(ca_file: Path | None) -> str:
    if ca_file is None:
        return "If the stack made it itself (MOSAIC_TLS=self),"
    return f"{ca_file} does not have it: it may be an older copy. If you expect the change,"
