"""What a service trusts of the broker."""

import ssl
from pathlib import Path
from typing import Any

from mosaic_base.broker_tls import SCHEME, tls_options
from mosaic_servicekit.errors import CertificateUnusable


def connect_options(url: str, ca: Path | None) -> dict[str, Any]:
    """Options for `nats.connect`. The file is read at each connection, for it may have been written again.

    Args:
        ca: with `tls://`, the certificate of the authority to trust; None: those of the system.

    Raises:
        CertificateUnusable: `ca` cannot be read, or holds no certificate.
    """
    if not url.startswith(SCHEME):
        return {}
    try:
        return tls_options(url, None if ca is None else ca.read_text())
    except (OSError, ssl.SSLError, ValueError) as error:
        raise CertificateUnusable(f"{ca} cannot be used: {error}") from error
