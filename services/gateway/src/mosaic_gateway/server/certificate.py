"""The certificate of the TLS door: one that was given, or one of the gateway's own, made with the openssl program.

The gateway's own certificate is self-signed: a client is given a copy and trusts nothing else (`--ca-file`). It names
the hosts that the gateway answers to. The gateway makes it again when a host is missing in it or when it has expired.
"""

import contextlib
import os
import ssl
import subprocess
import tempfile
from collections.abc import Iterable
from ipaddress import ip_address
from pathlib import Path

from mosaic_gateway.errors import CertificateUnusable
from mosaic_servicekit.logging import get_log

DAYS = 3650
"""A pinned copy is as good on its last day as on its first; who wants rotation gives a certificate."""
_OPENSSL_S = 30.0
_CONFIG = """\
[req]
distinguished_name = name
x509_extensions = extensions
prompt = no
[name]
CN = MOSAIC gateway
[extensions]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
subjectAltName = {names}
"""


def own_certificate(certificate: Path, key: Path, hosts: Iterable[str]) -> None:
    """Make `certificate` and `key` (0600) for `hosts`, unless they are there and still good for all of them.

    Raises:
        CertificateUnusable: there is no openssl, a host is no name, or the folder cannot be written.
    """
    names = sorted({_alternative_name(host) for host in hosts})
    if key.exists() and certificate.exists() and set(names) <= _names_in(certificate):
        return
    try:
        certificate.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=certificate.parent, prefix=".tls-") as draft:
            _make(Path(draft), names)
            (Path(draft) / "key").replace(key)
            (Path(draft) / "certificate").replace(certificate)
    except OSError as error:
        raise CertificateUnusable(
            f"{certificate} cannot be made ({error.strerror}); give this user the folder, or set MOSAIC_HOME"
        ) from error
    get_log().warning(
        "certificate.made",
        path=str(certificate),
        names=names,
        todo="clients need a copy of it: --ca-file",
    )


def check_pair(certificate: Path, key: Path) -> None:
    """Whether TLS can be spoken with these.

    Raises:
        CertificateUnusable: says which file is wrong, and how.
    """
    for name, path in (("MOSAIC_TLS_CERT", certificate), ("MOSAIC_TLS_KEY", key)):
        try:
            path.read_bytes()
        except OSError as error:
            raise CertificateUnusable(
                f"{name}={path} cannot be read ({error.strerror}); name a PEM file that this user can read"
            ) from error
    if key.stat().st_mode & 0o007:
        raise CertificateUnusable(f"{key} can be read by everybody; run chmod o-rwx on it")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=_refuse)
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or str(error)
        raise CertificateUnusable(
            f"{certificate} and {key} are no pair that TLS can be spoken with ({reason}): both must be PEM, the key "
            "without a password and that of the certificate, which comes first in its file"
        ) from error


def _refuse() -> str:
    raise ValueError("the key has a password")


def _make(draft: Path, names: list[str]) -> None:
    config = draft / "config"
    config.write_text(_CONFIG.format(names=", ".join(names)))
    argv = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    argv += ["-nodes", "-days", str(DAYS), "-config", str(config)]
    argv += ["-keyout", str(draft / "key"), "-out", str(draft / "certificate")]
    _openssl(argv)
    (draft / "key").chmod(0o600)
    (draft / "certificate").chmod(0o644)


def _names_in(certificate: Path) -> set[str]:
    """Names of a certificate, as `_alternative_name` writes them; none when it has expired or cannot be read."""
    argv = ["openssl", "x509", "-in", str(certificate), "-noout"]
    argv += ["-checkend", "0", "-ext", "subjectAltName"]
    try:
        said = _openssl(argv)
    except CertificateUnusable:
        return set()
    names = set()
    for entry in said.replace("\n", ",").split(","):
        kind, _, value = entry.strip().partition(":")
        if kind in ("DNS", "IP Address"):
            with contextlib.suppress(CertificateUnusable):
                names.add(_alternative_name(value))
    return names


def _alternative_name(host: str) -> str:
    """A host as openssl's configuration has it: `DNS:lab`, `IP:192.168.1.5`."""
    try:
        return f"IP:{ip_address(host)}"
    except ValueError:
        pass
    # What could be read as a further line or entry of the configuration does not get into it.
    if not host or not all(c.isascii() and (c.isalnum() or c in "-._") for c in host):
        raise CertificateUnusable(
            f"{host!r} is not a valid host name or address for a certificate; correct "
            "MOSAIC_ALLOWED_HOSTS"
        )
    return f"DNS:{host.lower()}"


def _openssl(argv: list[str]) -> str:
    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            timeout=_OPENSSL_S,
            check=True,
            env={**os.environ, "LC_ALL": "C"},
        )
    except FileNotFoundError as error:
        raise CertificateUnusable(
            "MOSAIC_TLS=self needs the program openssl, which is not here: install it, or give a certificate with "
            "MOSAIC_TLS_CERT and MOSAIC_TLS_KEY"
        ) from error
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        said = str(error.stderr or error).strip().splitlines()
        raise CertificateUnusable(
            f"openssl could not do it: {said[-1] if said else error}"
        ) from error
    return done.stdout
