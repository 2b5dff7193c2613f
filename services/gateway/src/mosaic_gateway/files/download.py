"""A file as a download: whole or a range of it, also while its writer appends to it."""

import asyncio
import os
from email.utils import formatdate
from mimetypes import guess_type
from pathlib import Path
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mosaic_gateway.files.artifacts import OpenFile, open_file
from mosaic_gateway.files.byte_range import ByteRange, RangeRefused, parse_range
from mosaic_gateway.problem_reply import problem_response

CHUNK_BYTES = 2**18


class ArtifactResponse(Response):
    """Opens `path` below `folder` and sends exactly as many bytes as it announced.

    Reads in threads, a chunk at a time as the client takes them, so that neither a slow disk nor a slow client holds
    up anybody else. When called it raises ProblemError `artifact_unknown`.
    """

    def __init__(self, folder: Path, path: str) -> None:
        super().__init__()
        self._folder = folder
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As an ASGI application."""
        file = await asyncio.to_thread(open_file, self._folder, self._path)
        try:
            await self._reply(file, Request(scope, receive), send)
        finally:
            os.close(file.fd)

    async def _reply(self, file: OpenFile, request: Request, send: Send) -> None:
        tag = f'"{file.mtime_ns:x}-{file.size:x}"'
        changed = formatdate(file.mtime_ns // 10**9, usegmt=True)
        headers = {"ETag": tag, "Last-Modified": changed, "Accept-Ranges": "bytes"}
        if tag in [t.strip() for t in request.headers.get("if-none-match", "").split(",")]:
            await Response(status_code=304, headers=headers)(request.scope, request.receive, send)
            return
        try:
            part = _asked_part(request.method, request.headers, file.size, (tag, changed))
        except RangeRefused as refused:
            sent = {**headers, "Content-Range": f"bytes */{refused.size}"}
            await problem_response(refused.problem, sent)(request.scope, request.receive, send)
            return
        name = self._path.rpartition("/")[2]
        headers["Content-Type"] = guess_type(name)[0] or "application/octet-stream"
        # As an attachment and not sniffed: a run's HTML must never act as a page of this address.
        headers |= {"Content-Disposition": disposition(name), "X-Content-Type-Options": "nosniff"}
        if part is not None:
            headers["Content-Range"] = f"bytes {part.start}-{part.end - 1}/{file.size}"
        whole = part or ByteRange(0, file.size)
        headers["Content-Length"] = str(whole.end - whole.start)
        start = {"type": "http.response.start", "status": 206 if part else 200}
        await send({**start, "headers": Headers(headers).raw})
        await _send_bytes(file.fd, whole, request, send)


async def _send_bytes(fd: int, part: ByteRange, request: Request, send: Send) -> None:
    at = part.end if request.method == "HEAD" else part.start
    # A file that shrank ends the answer early; the client sees fewer bytes than announced.
    while at < part.end and not await request.is_disconnected():
        chunk = await asyncio.to_thread(os.pread, fd, min(CHUNK_BYTES, part.end - at), at)
        if not chunk:
            break
        at += len(chunk)
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _asked_part(
    method: str, headers: Headers, size: int, validators: tuple[str, str]
) -> ByteRange | None:
    """The range to send; None for the whole file. `validators`: what `If-Range` may say for it to be a range."""
    asked = headers.get("range")
    if asked is None or method != "GET":
        return None
    if headers.get("if-range", validators[0]).strip() not in validators:
        return None
    return parse_range(asked, size)


def disposition(name: str) -> str:
    """`Content-Disposition` that saves under exactly `name` (RFC 6266), with a plain name for old clients."""
    plain = "".join(c if c.isascii() and c.isprintable() and c not in '"\\%' else "_" for c in name)
    exact = "" if plain == name else f"; filename*=UTF-8''{quote(name, safe='')}"
    return f'attachment; filename="{plain}"{exact}'
