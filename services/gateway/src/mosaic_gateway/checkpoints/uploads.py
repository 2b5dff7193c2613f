"""Files that are imported: written to a folder as they come, hashed, and removed once they are taken or refused."""

import asyncio
import hashlib
import os
import secrets
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request

from mosaic_contracts.archive_words import MAX_ARCHIVE_BYTES
from mosaic_contracts.checkpoint_words import MAX_CHECKPOINT_BYTES
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_gateway.problem_reply import request_invalid
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.privacy import private_folder

MAX_UPLOADS = 4
"""Files that come in at the same time."""
IDLE_S = 60.0
"""Seconds without a byte after which an upload is given up."""
PIECE_BYTES = 2**20
"""Bytes that are written and hashed at once, in a thread."""
_SPACE_EVERY = 64
"""Pieces between two looks at the free space."""
MEDIA_TYPE = "application/octet-stream"
_SHOWN = 100


class UploadRule(NamedTuple):
    """What a file of one kind may be."""

    what: str
    max_bytes: int
    refused: ProblemCode
    """Code of the problem when it is empty."""


CHECKPOINT = UploadRule("A checkpoint", MAX_CHECKPOINT_BYTES, ProblemCode.CHECKPOINT_REFUSED)
ARCHIVE = UploadRule("An archive", MAX_ARCHIVE_BYTES, ProblemCode.ARCHIVE_REFUSED)


class Upload(NamedTuple):
    """A complete file."""

    name: str
    """Its name in the folder."""
    sha256: str
    bytes: int


class Uploads:
    """Receives files. What is in them is for the worker to read."""

    def __init__(self, folder: Path, reserve_bytes: int) -> None:
        """`reserve_bytes`: free bytes of the disk that no upload may use."""
        self._folder = folder
        self._reserve_bytes = reserve_bytes
        self._open = 0

    def sweep(self) -> None:
        """Remove what an earlier gateway was receiving when it was killed."""
        removed = 0
        with suppress(FileNotFoundError):  # nothing was ever uploaded
            for path in self._folder.iterdir():
                if not path.is_dir():
                    path.unlink(missing_ok=True)
                    removed += 1
        if removed:
            get_log().info("uploads.removed", files=removed)

    @asynccontextmanager
    async def receive(
        self, request: Request, rule: UploadRule = CHECKPOINT
    ) -> AsyncIterator[Upload]:
        """Give the body of a request as a file, which is removed at the end of the block unless somebody has moved it.

        Args:
            request: the request.
            rule: what the file may be.

        Raises:
            ProblemError: `upload_too_large`, `disk_low`, `rule.refused` for an empty body,
                `media_type_refused`, `service_unavailable` while too many files come in, or `request_invalid` when the
                connection broke or stands still.
        """
        _require_bytes(request.headers)
        _require_small(request.headers.get("content-length", ""), rule)
        if self._open >= MAX_UPLOADS:
            raise _too_many()
        self._open += 1
        try:
            await asyncio.to_thread(private_folder, self._folder)
            path = self._folder / secrets.token_hex(16)
            try:
                yield await self._written(request, path, rule)
            finally:
                await asyncio.to_thread(path.unlink, missing_ok=True)
        finally:
            self._open -= 1

    async def _written(self, request: Request, path: Path, rule: UploadRule) -> Upload:
        digest, size, pieces = hashlib.sha256(), 0, 0
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb", 0) as file:

            def write(piece: bytes) -> None:
                if pieces % _SPACE_EVERY == 0:
                    self._require_space(len(piece))
                digest.update(piece)
                _write_all(file, piece)

            async for piece in _pieces(request):
                size += len(piece)
                if size > rule.max_bytes:
                    raise _too_large(rule)
                try:
                    await asyncio.to_thread(write, piece)
                except OSError as error:
                    raise _disk_refused(error) from error
                pieces += 1
        if not size:
            raise _empty(rule)
        return Upload(path.name, digest.hexdigest(), size)

    def _require_space(self, more: int) -> None:
        free = shutil.disk_usage(self._folder).free
        if free - more < self._reserve_bytes:
            raise ProblemError(
                Problem(
                    code=ProblemCode.DISK_LOW,
                    title="The disk is nearly full",
                    detail=f"{free // 2**20} MiB are free, and {self._reserve_bytes // 2**20} MiB are kept "
                    "(MOSAIC_DISK_RESERVE_BYTES). Free some space, and import the file again.",
                    retry_after_s=60.0,
                )
            )


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    """The body in pieces of at least PIECE_BYTES, but for the last one."""
    piece = bytearray()
    stream = request.stream()
    while True:
        try:
            async with asyncio.timeout(IDLE_S):
                chunk = await anext(stream, None)
        except ClientDisconnect as error:
            raise _broken("The connection broke") from error
        except TimeoutError as error:
            raise _broken(f"Nothing came for {IDLE_S:g} s") from error
        if chunk is None:
            break
        piece += chunk
        if len(piece) >= PIECE_BYTES:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)


def _write_all(file: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def _require_bytes(headers: Headers) -> None:
    """Check the type of the body: a page of another site cannot send this one without asking first."""
    given = headers.getlist("content-type")
    encodings = [word.strip().lower() for word in headers.getlist("content-encoding")]
    if [word.partition(";")[0].strip().lower() for word in given] == [MEDIA_TYPE] and not any(
        word not in ("", "identity") for word in encodings
    ):
        return
    said = ", ".join(given)[:_SHOWN]
    raise ProblemError(
        Problem(
            code=ProblemCode.MEDIA_TYPE_REFUSED,
            title="The body must be the file's bytes and say so",
            detail=f"The Content-Type is {said!r}. Send the file as it is, with `Content-Type: {MEDIA_TYPE}`.",
        )
    )


def _require_small(length: str, rule: UploadRule) -> None:
    if length.isdecimal() and int(length) > rule.max_bytes:
        raise _too_large(rule)


def _too_large(rule: UploadRule) -> ProblemError:
    return ProblemError(
        Problem(
            code=ProblemCode.UPLOAD_TOO_LARGE,
            title="The file is too large",
            detail=f"{rule.what} has at most {rule.max_bytes // 2**30:,} GiB. Nothing of it was kept.",
        )
    )


def _empty(rule: UploadRule) -> ProblemError:
    words = "The file is empty. Copy it again from where it comes from."
    return ProblemError(
        Problem(
            code=rule.refused,
            title="The file cannot be imported",
            detail=words,
            fields=[{"where": "file", "message": words}],
        )
    )


def _too_many() -> ProblemError:
    return ProblemError(
        Problem(
            code=ProblemCode.SERVICE_UNAVAILABLE,
            title="Too many files are being imported",
            detail=f"{MAX_UPLOADS} files are on their way in. Try again in a moment.",
            retry_after_s=5.0,
        )
    )


def _broken(what: str) -> ProblemError:
    return request_invalid(f"{what} before the file was complete. Send it again.")


def _disk_refused(error: OSError) -> ProblemError:
    return ProblemError(
        Problem(
            code=ProblemCode.STORE_UNAVAILABLE,
            title="The file cannot be written",
            detail=f"The disk refused it: {error.strerror}. Free some space or mend the disk, and import it again.",
        )
    )
