"""Probe whether a W&B server can be reached and takes the key: name service, proxy, connection, TLS, sign-in.

It is bounded in time and sends nothing of a run. Its result is a reason in words.
"""

import asyncio
import base64
import os
import socket
import ssl
import time
from dataclasses import dataclass, field
from hashlib import sha256
from urllib.parse import unquote, urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # typeshed lacks it
from weakref import WeakValueDictionary

from pydantic import SecretStr

from mosaic_contracts.tracking import WANDB_SECRET, without_userinfo
from mosaic_scheduler.proxy import LOOPBACK

LIMIT_S = 6.0
"""For all of one probe."""
KEPT_S = 60.0
"""A result is used again for so long: a consent is about the same words as its preflight."""
_QUERY = b'{"query":"query Viewer { viewer { id } }"}'
_MAX_HEAD_BYTES = 64 * 2**10
_MAX_BODY_BYTES = 2**20
_PORTS = {"http": 80, "https": 443}
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True)
class TrackerServer:
    """A W&B server as a run would reach it."""

    address: str
    proxy: SecretStr | None = None
    """For this address; None: no proxy."""
    key: SecretStr | None = None
    """None: whether a key is taken is not looked at."""


class Unreachable(Exception):
    """The server cannot be used; the message says why, in words for a user."""


@dataclass
class ReachProbe:
    """Probes servers and keeps each result for a while."""

    limit_s: float = LIMIT_S
    _known: dict[str, tuple[float, str]] = field(default_factory=dict)
    _locks: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def fault(self, server: TrackerServer) -> str:
        """Return why a server cannot be used; empty: it can."""
        name = _name(server)
        # Two at once ask once.
        lock = self._locks.setdefault(name, asyncio.Lock())
        async with lock:
            at, fault = self._known.get(name, (0.0, ""))
            if name not in self._known or time.monotonic() - at > KEPT_S:
                fault = await self._probe(server)
                self._forget_old()
                self._known[name] = (time.monotonic(), fault)
        return fault

    def _forget_old(self) -> None:
        now = time.monotonic()
        self._known = {
            name: known for name, known in self._known.items() if now - known[0] < KEPT_S
        }

    async def _probe(self, server: TrackerServer) -> str:
        stage = _Stage()
        try:
            async with asyncio.timeout(self.limit_s):
                await _sign_in(server, stage)
        except TimeoutError:
            return f"{stage.words} took longer than {self.limit_s:g} s"
        except Unreachable as error:
            return str(error)
        finally:
            if stage.writer is not None:
                stage.writer.close()
        return ""


@dataclass
class _Stage:
    """What is under way."""

    words: str = "the probe"
    """For a time-out."""
    writer: asyncio.StreamWriter | None = None
    """The connection, to be closed."""


def proxy_of(address: str, http: SecretStr | None, https: SecretStr | None) -> SecretStr | None:
    """Return the proxy by which an address is reached, as all programs choose it; None: none."""
    parts = urlsplit(address)
    excluded = {"no": os.environ.get("NO_PROXY", LOOPBACK)}
    if proxy_bypass_environment(parts.netloc.rpartition("@")[2], excluded):
        return None
    return https if parts.scheme == "https" else http


async def _sign_in(server: TrackerServer, stage: _Stage) -> None:
    parts = urlsplit(server.address)
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    is_tls = parts.scheme == "https"
    streams = await _open(server, host, port, is_tls, stage)
    stage.words = f"an answer of {host}"
    absolute = server.address.rstrip("/") + "/graphql"
    by_proxy = server.proxy is not None and not is_tls
    target = absolute if by_proxy else urlsplit(absolute).path
    headers = {"Host": parts.netloc.rpartition("@")[2], "Content-Type": "application/json"}
    if server.key is not None:
        headers["Authorization"] = _basic(f"api:{server.key.get_secret_value()}")
    if by_proxy and server.proxy is not None:
        headers |= _proxy_sign_in(server.proxy)
    status, body = await _ask(streams, "POST", target, headers, _QUERY, host)
    if by_proxy and status == 407:
        raise Unreachable(_wants_password(_shown(server.proxy)))
    if status in (401, 403) and server.key is not None:
        raise Unreachable(
            f"{host} does not accept the key (HTTP {status}); set {WANDB_SECRET} again"
        )
    if status != 200 and not (status in (401, 403) and server.key is None):
        raise Unreachable(f"{host} answered HTTP {status}")
    if server.key is not None and b'"viewer":null' in body.replace(b" ", b""):
        raise Unreachable(f"{host} does not know the key; set {WANDB_SECRET} again")


async def _open(
    server: TrackerServer, host: str, port: int, is_tls: bool, stage: _Stage
) -> _Streams:
    """Connect, through the proxy if there is one, and with TLS where the address says so."""
    if server.proxy is None:
        streams = await _connect(host, port, "", stage)
        return await _start_tls(streams, host, host, stage) if is_tls else streams
    proxy = urlsplit(server.proxy.get_secret_value())
    name = proxy.hostname or ""
    streams = await _connect(name, proxy.port or _PORTS[proxy.scheme], "the proxy ", stage)
    if proxy.scheme == "https":
        streams = await _start_tls(streams, name, f"the proxy {name}", stage)
    if not is_tls:
        return streams
    stage.words = f"an answer of the proxy {name}"
    target = f"{host}:{port}"
    headers = {"Host": target, **_proxy_sign_in(server.proxy)}
    status, _ = await _ask(streams, "CONNECT", target, headers, b"", f"the proxy {name}")
    if status == 407:
        raise Unreachable(_wants_password(_shown(server.proxy)))
    if status != 200:
        raise Unreachable(f"the proxy {_shown(server.proxy)} refuses {target} (HTTP {status})")
    return await _start_tls(streams, host, host, stage)


async def _connect(host: str, port: int, what: str, stage: _Stage) -> _Streams:
    stage.words = f"looking up {what}{host}"
    loop = asyncio.get_running_loop()
    try:
        await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise Unreachable(f"the name service does not know {what}{host}") from error
    stage.words = f"connecting to {what}{host}:{port}"
    try:
        reader, stage.writer = await asyncio.open_connection(host, port, limit=_MAX_HEAD_BYTES)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise Unreachable(f"{what}{host}:{port} cannot be connected to ({why})") from error
    return reader, stage.writer


async def _start_tls(streams: _Streams, host: str, what: str, stage: _Stage) -> _Streams:
    reader, writer = streams
    stage.words = f"the TLS handshake with {what}"
    try:
        await writer.start_tls(ssl.create_default_context(), server_hostname=host)
    except ssl.SSLCertVerificationError as error:
        words = f"the certificate of {what} is not valid here ({error.verify_message})"
        raise Unreachable(words) from error
    except (ssl.SSLError, OSError) as error:
        raise Unreachable(f"{what} does not speak TLS ({error})") from error
    return reader, writer


async def _ask(
    streams: _Streams, method: str, target: str, headers: dict[str, str], body: bytes, what: str
) -> tuple[int, bytes]:
    """Send one request; return status and body. After the head of an answer to CONNECT nothing is read."""
    reader, writer = streams
    is_connect = method == "CONNECT"
    if not is_connect:
        headers = {**headers, "Content-Length": str(len(body)), "Connection": "close"}
    head = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    try:
        writer.write("\r\n".join([*head, "", ""]).encode() + body)
        await writer.drain()
        answer = await reader.readuntil(b"\r\n\r\n")
        version, _, rest = answer.partition(b" ")
        if not version.startswith(b"HTTP/"):
            raise ValueError("no HTTP")
        status = int(rest[:3])
        return status, b"" if is_connect else await reader.read(_MAX_BODY_BYTES)
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
        raise Unreachable(f"{what} closed the connection or does not speak HTTP") from error


def _proxy_sign_in(proxy: SecretStr) -> dict[str, str]:
    parts = urlsplit(proxy.get_secret_value())
    if parts.username is None:
        return {}
    words = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"Proxy-Authorization": _basic(words)}


def _basic(words: str) -> str:
    return "Basic " + base64.b64encode(words.encode()).decode()


def _wants_password(shown: str) -> str:
    return f"the proxy {shown} wants another name and password (HTTP 407)"


def _shown(proxy: SecretStr | None) -> str:
    return "" if proxy is None else without_userinfo(proxy.get_secret_value())


def _name(server: TrackerServer) -> str:
    """A name of what is probed, without its secrets."""
    parts = (server.proxy, server.key)
    words = [server.address, *(part.get_secret_value() if part else "" for part in parts)]
    return sha256("\n".join(words).encode()).hexdigest()
