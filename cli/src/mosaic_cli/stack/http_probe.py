"""One small HTTP request to a service of this machine, for a supervisor that starts in a moment and stays small."""

import asyncio
import json
from typing import Any, NamedTuple

PROBE_TIMEOUT_S = 5.0
_LARGEST_ANSWER = 2**20


class Answer(NamedTuple):
    """Status and JSON of an answer."""

    status: int
    content: dict[str, Any]


async def get_json(host: str, port: int, path: str) -> Answer | None:
    """GET a JSON object; None when nobody answers with one in time."""
    writer = None
    try:
        async with asyncio.timeout(PROBE_TIMEOUT_S):
            reader, writer = await asyncio.open_connection(host, port)
            # HTTP/1.0: the answer ends with the connection, so it needs no parser
            writer.write(f"GET {path} HTTP/1.0\r\nHost: {host}:{port}\r\n\r\n".encode())
            head, _, body = (await _read_all(reader)).partition(b"\r\n\r\n")
            content = json.loads(body)
            status = int(head.split(b" ", 2)[1])
    except (OSError, ValueError, IndexError):  # TimeoutError is an OSError
        return None
    finally:
        if writer is not None:
            writer.transport.abort()
    return Answer(status, content) if isinstance(content, dict) else None


async def _read_all(reader: asyncio.StreamReader) -> bytes:
    parts: list[bytes] = []
    while part := await reader.read(_LARGEST_ANSWER):
        parts.append(part)
        if sum(map(len, parts)) > _LARGEST_ANSWER:
            raise ValueError("the answer is too large")
    return b"".join(parts)
