"""A Unix socket on which a run answers HTTP: found below its folder without following a link."""

import os
import ssl
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import httpx

TIMEOUT_S = 60.0
CONNECT_TIMEOUT_S = 5.0
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Never used on a Unix socket; by itself httpx would read all authorities of the system for each request."""
_OPEN = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def socket_name(run_dir: Path, socket: str) -> Iterator[str]:
    """A name to connect to `socket`, a path in the run's folder. It leads to the socket that was found, whatever
    takes its place meanwhile, and is short.

    Raises:
        FileNotFoundError: there is no such socket.
    """
    place = PurePosixPath(socket)
    folder = os.open(run_dir / place.parent, _OPEN | os.O_DIRECTORY)
    try:
        found = os.open(place.name, _OPEN, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        if not stat.S_ISSOCK(os.fstat(found).st_mode):
            raise FileNotFoundError(f"{socket} is no socket")
        yield f"/proc/self/fd/{found}"
    finally:
        os.close(found)


def timeout() -> "httpx.Timeout":
    """Bounds of a request to a worker."""
    return httpx.Timeout(TIMEOUT_S, connect=CONNECT_TIMEOUT_S)


async def ask(
    run_dir: Path,
    socket: str,
    method: str,
    path: str,
    body: bytes | AsyncIterator[bytes],
    *,
    size: int | None = None,
) -> bytes:
    """Send one request of the gateway's own, and return the body of the answer.

    Args:
        run_dir: folder of the run.
        socket: the socket's path in the folder.
        method: of the request.
        path: of the request, with its query.
        body: of the request.
        size: bytes of the body, where it comes in parts.

    Raises:
        httpx.HTTPError: nobody answers, or the answer is an error.
        OSError: there is no socket.
    """
    headers = {} if size is None else {"Content-Length": str(size)}
    with socket_name(run_dir, socket) as name:
        transport = httpx.AsyncHTTPTransport(uds=name, verify=NO_TLS)
        async with httpx.AsyncClient(transport=transport, timeout=timeout()) as client:
            url = f"http://run{path}"
            answer = await client.request(method, url, content=body, headers=headers)
            answer.raise_for_status()
            return answer.content
