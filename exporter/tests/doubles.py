"""A stack that answers with frames or batches, in the place of a real one."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import numpy as np
import zstandard
from numpy.typing import NDArray

from mosaic_client import Client, Location
from mosaic_contracts import wire
from mosaic_contracts.frames import EnvironmentFrame, EpisodeFrames, encode_frame, encode_page
from mosaic_contracts.stored import BatchPage
from mosaic_contracts.stored import encode_page as encode_batches

RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
LOCATION = Location("http://127.0.0.1:9", "secret")
PAGE = 7
Pictures = Callable[[int], NDArray[np.uint8] | None]


def moving_square(step: int) -> NDArray[np.uint8]:
    """A white picture, 31 pixels wide and 25 high, with a square that moves by a pixel at each step."""
    picture = np.full((25, 31, 3), 255, np.uint8)
    picture[8:16, step % 20 : step % 20 + 8] = (200, 30, 40)
    return picture


def frame_of(step: int, picture: NDArray[np.uint8] | None, **fields: Any) -> EnvironmentFrame:
    """A frame of a replay."""
    shown: dict[str, Any] = {"problem": "It has no rgb_array."}
    if picture is not None:
        data = zstandard.ZstdCompressor(1).compress(np.ascontiguousarray(picture).tobytes())
        height, width, channels = picture.shape
        shown = {
            "encoding": "zstd",
            "width": width,
            "height": height,
            "channels": channels,
            "data": data,
        }
    head = {"run_id": RUN_ID, "env": 0, "number": step, "episode": 3, "step": step, "t_us": 1}
    return EnvironmentFrame(**{**head, **shown, **fields})


def replaying(
    last: int, pictures: Pictures = moving_square, differs_from: int | None = None
) -> Client:
    """A client of a stack with one replay of `last` steps, in pages of seven frames."""

    def answer(request: httpx.Request) -> httpx.Response:
        asked = request.url.params
        first, every = int(asked["first"]), int(asked["every"])
        end = min(int(asked.get("last", last)), last)
        steps = list(range(first, end + 1, every))
        frames = [
            encode_frame(
                frame_of(step, pictures(step), is_exact=differs_from is None or step < differs_from)
            )
            for step in steps[:PAGE]
        ]
        following = steps[PAGE] if len(steps) > PAGE else None
        return httpx.Response(200, content=encode_page(EpisodeFrames(frames, following, last)))

    return Client(LOCATION, transport=httpx.MockTransport(answer))


class RecordedRun:
    """What a stack answers of a run with these records, in several pages of batches."""

    def __init__(
        self,
        records: list[Any],
        spaces: dict[str, Any],
        config: dict[str, Any],
        *,
        per_page: int = 50,
        level: str = "full",
    ) -> None:
        self._pages = list(_pages(records, spaces, per_page))
        self._config = config
        self._level = level

    def answer(self, path: str, cursor: str) -> bytes:
        """The body of an answer. `cursor`: of the query, empty where there is none."""
        if path.endswith("/batches"):
            pages = self._pages
            place = next((i + 1 for i, page in enumerate(pages) if page.cursor == cursor), 0)
            return encode_batches(pages[place])
        if path.endswith("/events"):
            event = {"type": "config", "attempt": 1, "source": "worker", "seq": 1}
            found = [{**event, "data": self._config}]
            return json.dumps({"events": found, "cursor": "1.worker.1", "has_more": False}).encode()
        spec = {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1"}
        view = {
            "run_id": RUN_ID, "name": "a run", "spec": {**spec, "record": self._level}, "state": "succeeded",
            "revision": 1, "created_at": "2026-01-01T00:00:00Z", "run_dir": f"runs/{RUN_ID}",
        }  # fmt: skip
        return json.dumps(view).encode()


def recording(
    records: list[Any], spaces: dict[str, Any], config: dict[str, Any], level: str = "full"
) -> Client:
    """A client of a stack whose run has these records."""
    run = RecordedRun(records, spaces, config, level=level)

    def answer(request: httpx.Request) -> httpx.Response:
        cursor = request.url.params.get("cursor", "")
        return httpx.Response(200, content=run.answer(request.url.path, cursor))

    return Client(LOCATION, transport=httpx.MockTransport(answer))


def _pages(records: list[Any], spaces: dict[str, Any], per_page: int) -> Iterator[BatchPage]:
    for begin in range(0, len(records), per_page):
        part = records[begin : begin + per_page]
        head = wire.BatchHead(RUN_ID, 1, "worker", part[0].seq, len(part))
        data = wire.join_batch(head, 1, b"".join(map(wire.encode_record, part)))
        frame = zstandard.ZstdCompressor(1).compress(data)
        cursor = f"1.worker.{part[-1].seq}"
        yield BatchPage({1: spaces}, [frame], cursor, begin + per_page < len(records))
