"""`python -m mosaic_servicekit.broker`: `init` makes keys, credentials, configuration; `check` says who is admitted."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mosaic_contracts.stack_files import BROKER_CA, BROKER_CONFIG, BROKER_SECRETS
from mosaic_servicekit import jwt
from mosaic_servicekit.account import ACCOUNTS_NAME, KEYS_FILE, Accounts, load_keys, write_revoker
from mosaic_servicekit.certificate import BROKER_USE, Authority, own_certificate
from mosaic_servicekit.credentials import (
    SIGNER_FILE,
    creds_path,
    service_permissions,
    write_secret,
)
from mosaic_servicekit.errors import CertificateUnusable
from mosaic_servicekit.privacy import private_folder

MAX_PAYLOAD_BYTES = 8 * 2**20
"""Twice a full batch, so that a batch of incompressible records with its headers fits."""
MAX_STORE_BYTES = 2 * 2**30
"""Fixed: left alone, the server takes three quarters of the free disk as its limit at each start."""


LOOPBACK = "127.0.0.1"
BROKER_CERTIFICATE = "nats/config/broker.crt"
BROKER_KEY = "nats/config/broker.key"
BROKER_CA_KEY = f"{BROKER_SECRETS}/ca.key"
TLS_HANDSHAKE_S = 10
"""Time limit of a handshake: a hundred runs may come back at once after a restart of the broker."""


def init_broker(
    home: Path,
    port: int,
    monitor_port: int | None = None,
    host: str = LOOPBACK,
    store: Path | None = None,
    tls_hosts: Sequence[str] = (),
) -> Path:
    """Make what is missing below `home` and return the path of the server's configuration.

    The server listens on `host` (in a container: every address of its own networks) and keeps its streams in
    `store`, by default `home/nats`. Its monitor shows connections and streams to everybody who reaches it and asks for
    no credential: it is opened for `monitor_port` only, on loopback, where a container keeps others away from it.

    With `tls_hosts` it speaks TLS only, from the first byte on, with a certificate for these host names that is signed
    by an authority of the stack's own (`BROKER_CA`); services and runs trust nothing else.

    Keys are made once and kept: credentials of runs that live must outlast a restart of the stack. JWTs and
    the configuration are written again each time, for ports and permissions may have changed.

    Raises:
        CredentialsInvalid: the key file is damaged.
        CertificateUnusable: a certificate cannot be made.
    """
    keys = _make_keys(home)
    account = jwt.public_key(keys["account"])
    for name, permitted in service_permissions().items():
        token = jwt.user_jwt(keys["account"], account, jwt.public_key(keys[name]), name, permitted)
        write_secret(creds_path(home, name), jwt.creds_text(token, keys[name]))
    write_revoker(home, keys)
    write_secret(home / SIGNER_FILE, json.dumps({"account": account, "seed": keys["run_signer"]}))
    config = home / BROKER_CONFIG
    monitor = f"{LOOPBACK}:{monitor_port}" if monitor_port is not None else None
    if store is None:
        store = home / "nats"
        private_folder(store)
    tls = _certify(home, tls_hosts) if tls_hosts else None
    write_secret(config, _config(keys, _Places(address(host, port), monitor, store, tls)))
    Accounts(home, keys).write()
    return config


def address(host: str, port: int) -> str:
    """`HOST:PORT`, with an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _certify(home: Path, hosts: Sequence[str]) -> Authority:
    """Make the broker's certificate where it is missing; return where it and its key are."""
    own = Authority(home / BROKER_CERTIFICATE, home / BROKER_KEY)
    authority = Authority(home / BROKER_CA, home / BROKER_CA_KEY)
    own_certificate(own.certificate, own.key, hosts, BROKER_USE, authority)
    return own


def _make_keys(home: Path) -> dict[str, str]:
    path = home / KEYS_FILE
    kinds = {
        "operator": jwt.OPERATOR,
        "system": jwt.ACCOUNT,
        "revoker": jwt.USER,
        "account": jwt.ACCOUNT,
        "run_signer": jwt.ACCOUNT,
        **dict.fromkeys(service_permissions(), jwt.USER),
    }
    keys = load_keys(home) if path.exists() else {}
    missing = {name: jwt.new_seed(kind) for name, kind in kinds.items() if name not in keys}
    if missing:
        keys |= missing
        write_secret(path, json.dumps(keys, indent=1))
    return keys


class _Places(NamedTuple):
    listen: str
    monitor: str | None
    store: Path
    tls: Authority | None


def _config(keys: dict[str, str], places: _Places) -> str:
    monitor = f"http: {json.dumps(places.monitor)}\n" if places.monitor is not None else ""
    return f"""\
# Written by mosaic_servicekit.broker at every start; changes here are lost.
server_name: mosaic
listen: {json.dumps(places.listen)}
{monitor}{_tls(places.tls)}max_payload: {MAX_PAYLOAD_BYTES}
jetstream {{
  store_dir: {quote_path(places.store)}
  max_file_store: {MAX_STORE_BYTES}
  max_memory_store: 0
}}
operator: "{jwt.operator_jwt(keys["operator"])}"
system_account: "{jwt.public_key(keys["system"])}"
resolver: MEMORY
include {ACCOUNTS_NAME}
"""


def _tls(pair: Authority | None) -> str:
    """TLS before the first byte: a client that expects the server's greeting in the clear waits in vain."""
    if pair is None:
        return ""
    return f"""\
tls {{
  cert_file: {quote_path(pair.certificate)}
  key_file: {quote_path(pair.key)}
  handshake_first: true
  timeout: {TLS_HANDSHAKE_S}
}}
"""


def quote_path(path: Path) -> str:
    """Quote a path for the server's configuration, byte for byte.

    The server knows `\\xNN` but not JSON's `\\uNNNN`, so every byte but plain ASCII is written that way.
    """
    plain = (chr(byte) if _is_plain(byte) else f"\\x{byte:02x}" for byte in os.fsencode(path))
    return f'"{"".join(plain)}"'


def _is_plain(byte: int) -> bool:
    return 0x20 <= byte < 0x7F and byte not in b'"\\'


def main() -> None:
    """Run as a program."""
    parser = argparse.ArgumentParser(prog="python -m mosaic_servicekit.broker")
    verbs = parser.add_subparsers(dest="verb", required=True)
    init = verbs.add_parser("init", help="make keys, credentials and the server's configuration")
    init.add_argument("--home", type=Path, required=True, help="MOSAIC_HOME")
    init.add_argument("--port", type=int, required=True, help="port for clients")
    init.add_argument("--monitor-port", type=int, help="port for /healthz (no monitor)")
    init.add_argument("--host", default=LOOPBACK, help=f"address to listen on ({LOOPBACK})")
    init.add_argument(
        "--tls-host",
        action="append",
        default=[],
        help="host name of the certificate; with one the broker speaks TLS only (repeatable)",
    )
    init.add_argument("--store", type=Path, help="folder of the streams (HOME/nats)")
    check = verbs.add_parser("check", help="find services that the broker does not admit")
    check.add_argument("--home", type=Path, required=True, help="MOSAIC_HOME")
    check.add_argument("--url", required=True, help="nats://HOST:PORT or tls://HOST:PORT")
    arguments = parser.parse_args()
    home = arguments.home.absolute()
    said: dict[str, Any]
    if arguments.verb == "check":
        # here, for they are a client of the broker, and every start of the stack waits for `init`
        import asyncio

        from mosaic_servicekit.admission import refused_services

        said = {"refused": asyncio.run(refused_services(home, arguments.url))}
    else:
        places = (arguments.port, arguments.monitor_port, arguments.host, arguments.store)
        try:
            said = {"config": str(init_broker(home, *places, arguments.tls_host))}
        except CertificateUnusable as error:
            sys.exit(str(error))
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main()
