"""Certificates for TLS: one that was given, or one of the stack's own, made with the openssl program.

The gateway's own certificate is self-signed: a client is given a copy and trusts nothing else (`--ca-file`). The
broker's is signed by an authority of the stack's own, so that a run that has started keeps its trust when the broker
gets another name. A certificate is made again when a host is missing in it or when it has expired.
"""

import contextlib
import os
import ssl
import subprocess
import tempfile
from collections.abc import Iterable
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from mosaic_servicekit.errors import CertificateUnusable

DAYS = 3650
"""A pinned copy is as good on its last day as on its first; who wants rotation gives a certificate."""
_OPENSSL_S = 30.0
_CONFIG = """\
[req]
distinguished_name = name
x509_extensions = extensions
prompt = no
[name]
CN = {subject}
[extensions]
subjectKeyIdentifier = hash
"""
_OF_SERVER = """\
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = {names}
"""
_OF_AUTHORITY = """\
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign
"""
_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


class CertificateUse(NamedTuple):
    """What a certificate is for, in the words of its errors and of the log."""

    subject: str
    hosts_from: str
    """Settings that the host names come from."""
    without_openssl: str
    """What needs the openssl program, and what to do without it."""
    todo: str
    """What to do with a new certificate."""


GATEWAY_USE = CertificateUse(
    "MOSAIC gateway",
    "MOSAIC_ALLOWED_HOSTS",
    "MOSAIC_TLS=self needs the program openssl, which is not here: install it, or give a certificate with "
    "MOSAIC_TLS_CERT and MOSAIC_TLS_KEY",
    "clients need a copy of it: --ca-file",
)
BROKER_USE = CertificateUse(
    "MOSAIC broker",
    "MOSAIC_BROKER_BIND and MOSAIC_BROKER_RUNS_URL",
    "MOSAIC_BROKER_BIND needs the program openssl, which is not here: install it, or leave the broker on loopback",
    "nothing: runs trust the authority that signed it",
)


class Authority(NamedTuple):
    """Files of an authority that signs certificates."""

    certificate: Path
    key: Path


def own_certificate(
    certificate: Path,
    key: Path,
    hosts: Iterable[str],
    use: CertificateUse = GATEWAY_USE,
    authority: Authority | None = None,
) -> None:
    """Make `certificate` and `key` (0600) for `hosts`, unless they are there and still good for all of them.

    Args:
        authority: signs the certificate, and is made where it is missing; None: the certificate is self-signed.

    Raises:
        CertificateUnusable: there is no openssl, a host is no name, or the folder cannot be written.
    """
    names = sorted({_alternative_name(host, use) for host in hosts})
    extensions = _OF_SERVER.format(names=", ".join(names))
    if authority is not None and not (authority.key.exists() and authority.certificate.exists()):
        _make(authority.certificate, authority.key, _OF_AUTHORITY, use, None)
    elif key.exists() and certificate.exists() and set(names) <= _names_in(certificate, use):
        return
    _make(certificate, key, extensions, use, authority)
    # here: structlog takes 10 ms of each start of a stack, and a certificate is made once
    from mosaic_servicekit.logging import get_log

    get_log().warning("certificate.made", path=str(certificate), names=names, todo=use.todo)


def _make(
    certificate: Path, key: Path, extensions: str, use: CertificateUse, authority: Authority | None
) -> None:
    try:
        certificate.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=certificate.parent, prefix=".tls-") as folder:
            draft = Path(folder)
            (draft / "config").write_text(_CONFIG.format(subject=use.subject) + extensions)
            _self_signed(draft, use) if authority is None else _signed(draft, authority, use)
            (draft / "key").chmod(0o600)
            (draft / "certificate").chmod(0o644)
            (draft / "key").replace(key)
            (draft / "certificate").replace(certificate)
    except OSError as error:
        raise CertificateUnusable(
            f"{certificate} cannot be made ({error.strerror}); give this user the folder, or set MOSAIC_HOME"
        ) from error


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


def _self_signed(draft: Path, use: CertificateUse) -> None:
    argv = ["openssl", "req", "-x509", *_NEW_KEY, "-days", str(DAYS)]
    argv += ["-config", str(draft / "config")]
    argv += ["-keyout", str(draft / "key"), "-out", str(draft / "certificate")]
    _openssl(argv, use)


def _signed(draft: Path, authority: Authority, use: CertificateUse) -> None:
    argv = ["openssl", "req", "-new", *_NEW_KEY, "-config", str(draft / "config")]
    _openssl([*argv, "-keyout", str(draft / "key"), "-out", str(draft / "request")], use)
    argv = ["openssl", "x509", "-req", "-in", str(draft / "request"), "-days", str(DAYS)]
    argv += ["-CA", str(authority.certificate), "-CAkey", str(authority.key)]
    argv += ["-set_serial", f"0x{os.urandom(16).hex()}"]
    argv += ["-extfile", str(draft / "config"), "-extensions", "extensions"]
    _openssl([*argv, "-out", str(draft / "certificate")], use)


def _names_in(certificate: Path, use: CertificateUse) -> set[str]:
    """Names of a certificate, as `_alternative_name` writes them; none when it has expired or cannot be read."""
    argv = ["openssl", "x509", "-in", str(certificate), "-noout"]
    argv += ["-checkend", "0", "-ext", "subjectAltName"]
    try:
        said = _openssl(argv, use)
    except CertificateUnusable:
        return set()
    names = set()
    for entry in said.replace("\n", ",").split(","):
        kind, _, value = entry.strip().partition(":")
        if kind in ("DNS", "IP Address"):
            with contextlib.suppress(CertificateUnusable):
                names.add(_alternative_name(value, use))
    return names


def _alternative_name(host: str, use: CertificateUse) -> str:
    """A host as openssl's configuration has it: `DNS:lab`, `IP:192.168.1.5`."""
    try:
        return f"IP:{ip_address(host)}"
    except ValueError:
        pass
    # What could be read as a further line or entry of the configuration does not get into it.
    if not host or not all(c.isascii() and (c.isalnum() or c in "-._") for c in host):
        raise CertificateUnusable(
            f"{host!r} is not a valid host name or address for a certificate; correct {use.hosts_from}"
        )
    return f"DNS:{host.lower()}"


def _openssl(argv: list[str], use: CertificateUse) -> str:
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
        raise CertificateUnusable(use.without_openssl) from error
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        said = str(error.stderr or error).strip().splitlines()
        raise CertificateUnusable(
            f"openssl could not do it: {said[-1] if said else error}"
        ) from error
    return done.stdout
