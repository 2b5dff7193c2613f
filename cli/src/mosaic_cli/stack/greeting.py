"""The first line that a nats-server sends: `INFO {...}`, before any credential is asked for."""

import asyncio
import json
import ssl

_ANSWER_S = 5.0


async def greets(host: str, port: int, context: ssl.SSLContext | None = None) -> bool:
    """Whether a nats-server with JetStream listens there. `context`: it speaks TLS."""
    writer = None
    try:
        async with asyncio.timeout(_ANSWER_S):
            reader, writer = await asyncio.open_connection(host, port, ssl=context)
            word, _, text = (await reader.readline()).partition(b" ")
            info = json.loads(text)
    except (
        OSError,
        ValueError,
    ):  # nobody listens, or something else does; TimeoutError is an OSError
        return False
    finally:
        if writer is not None:
            writer.transport.abort()
    return word == b"INFO" and isinstance(info, dict) and info.get("jetstream") is True
