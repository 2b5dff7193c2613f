"""Trusted certificates: those of the system, and the one that the user names."""

from pathlib import Path

from PyQt6.QtNetwork import QSsl, QSslCertificate, QSslConfiguration

from mosaic_gui.errors import CertificateUnreadable
from mosaic_gui.state.language import tr


def configuration(ca_file: Path | None) -> QSslConfiguration:
    """The TLS configuration of a connection.

    Raises:
        CertificateUnreadable: the file cannot be read, or holds no certificate.
    """
    made = QSslConfiguration.defaultConfiguration()
    if ca_file is not None:
        made.addCaCertificates(_certificates(ca_file))
    return made


def refusal(words: str) -> str:
    """Words about a failed TLS handshake, with what to do."""
    todo = tr(
        "If that is the stack's own certificate, name a copy of its secrets/gateway.crt (--ca-file)"
    )
    return f"{words.rstrip('.')}. {todo}"


def _certificates(path: Path) -> list[QSslCertificate]:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise CertificateUnreadable(
            tr(
                "The certificate file {file} cannot be read ({why}). Name a copy of the stack's "
                "secrets/gateway.crt.",
                file=path,
                why=error.strerror,
            )
        ) from error
    found = QSslCertificate.fromData(text, QSsl.EncodingFormat.Pem)
    if not found:
        raise CertificateUnreadable(
            tr("{file} holds no certificate (PEM). Name the right file.", file=path)
        )
    return found
