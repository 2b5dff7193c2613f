"""A file as a download, also while its writer appends to it."""

from starlette.responses import FileResponse, MalformedRangeHeader, RangeNotSatisfiable
from starlette.types import Send

from mosaic_contracts.problems import Problem, ProblemCode, ProblemError


class Download(FileResponse):
    """Sends exactly as many bytes as it announced, and tells a bad Range as a problem.

    Starlette's own reads to the end of the file: of one that grows meanwhile (TensorBoard's, a log) it sends more than
    its Content-Length, and the server breaks the connection. Can go once upstream reads at most that length.
    """

    @classmethod
    def _parse_range_header(cls, http_range: str, file_size: int) -> list[tuple[int, int]]:
        try:
            return super()._parse_range_header(http_range, file_size)
        except (MalformedRangeHeader, RangeNotSatisfiable) as error:
            raise ProblemError(
                Problem(
                    code=ProblemCode.REQUEST_INVALID,
                    title="That range of the file cannot be had",
                    detail=f"Range: {http_range[:100]!r}; the file has {file_size} bytes.",
                    status=416,
                )
            ) from error

    async def _handle_simple(self, send: Send, send_header_only: bool, send_pathsend: bool) -> None:
        start = {"type": "http.response.start", "status": self.status_code}
        await send({**start, "headers": self.raw_headers})
        left = 0 if send_header_only else int(self.headers["content-length"])
        if left == 0:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        async with self._open_file() as file:
            # A file that shrank ends the answer early; the client sees fewer bytes than announced.
            while left and (chunk := await file.read(min(self.chunk_size, left))):
                left -= len(chunk)
                await send({"type": "http.response.body", "body": chunk, "more_body": left > 0})
