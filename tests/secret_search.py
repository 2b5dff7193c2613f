"""Looks for a secret's value in everything that a stack keeps of a run, shows of it, or exports.

A value is looked for in all forms that the mask knows (`mosaic_workerkit.masking`): plain, as JSON, URL and `repr`
write it, in hexadecimal and in Base64; and inside compressed data.
"""

import io
import json
import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import zstandard
from stack_under_test import StackUnderTest

from mosaic_base.procfs import command, environment, pids
from mosaic_client import Client
from mosaic_workerkit.masking import SecretMask

_FRAME = b"\x28\xb5\x2f\xfd"
"""Begins each zstd frame."""
_MAX_FRAME_BYTES = 16 * 2**20
_CHUNK_BYTES = 2**14
CLOCK_TICK_S = 1.0
"""More than by which the time of a file can be behind the clock."""


class SecretSearch:
    """Collects the places in which the value is found.

    Args:
        stack: the stack.
        value: the secret's value.
        control: a text that is no secret and is expected in some places: it shows that these were really searched.
    """

    def __init__(self, stack: StackUnderTest, value: str, control: str) -> None:
        self._stack = stack
        self._began = time.time()
        self._mask, self._control = SecretMask({"SECRET": value}), SecretMask({"CONTROL": control})
        self.places: set[str] = set()
        self.control_places: set[str] = set()

    def look_at(self, place: str, data: bytes) -> None:
        """Look into data, and into zstd frames and zips inside it."""
        for part in (data, *_frames(data), *_members(data)):
            if self._mask.is_in(part):
                self.places.add(place)
            if self._control.is_in(part):
                self.control_places.add(place)

    def look_at_processes(self) -> None:
        """Look at argv and environment of every process of this machine."""
        for pid in pids():
            try:
                words = b"\0".join([*environment(pid), *command(pid)])
            except OSError:
                continue  # it has ended, or is another user's
            self.look_at(f"process {pid}", words)

    def look_at_files(self) -> None:
        """Look at every file of the stack's data root that was written since the search was made."""
        for path in self._stack.home.rglob("*"):
            with suppress(FileNotFoundError):  # the stack goes on, and deletes files of its own
                if path.is_file() and path.stat().st_mtime >= self._began - CLOCK_TICK_S:
                    self.look_at(str(path.relative_to(self._stack.home)), path.read_bytes())

    def look_at_answers(self, client: Client, run_id: str) -> None:
        """Look at what the API says of a run, with its events decoded, and of the stack."""
        manifest = client.manifest(run_id)
        self.look_at("manifest", manifest.model_dump_json().encode())
        self.look_at("run", client.run(run_id).model_dump_json().encode())
        self.look_at("log", client.log_tail(run_id, 10_000).text.encode())
        cursor = ""
        while True:
            page = client.events(run_id, cursor, limit=10_000)
            self.look_at("events", json.dumps(page.events).encode())
            cursor = page.cursor
            if not page.has_more:
                break
        shown = [client.stack(), *client.secrets()]
        self.look_at("status", "".join(each.model_dump_json() for each in shown).encode())

    def look_at_archives(self, run_id: str, folder: Path) -> None:
        """Look at all that is exported of a run: events, an event file, and a zip of its best checkpoint."""
        exports = (
            ("export", run_id, "--jsonl", "-o", str(folder / "run.jsonl")),
            ("export", run_id, "--tensorboard", "-o", str(folder / "tensorboard")),
            ("checkpoints", "export", f"{run_id}/last", "-o", str(folder / "checkpoint.zip")),
        )
        for words in exports:
            done = self._stack.cli(*words)
            assert done.returncode == 0, done.stderr
            self.look_at(" ".join(words[:2]), (done.stdout + done.stderr).encode())
        files = [path for path in folder.rglob("*") if path.is_file()]
        assert {".jsonl", ".zip"} <= {path.suffix for path in files}
        for path in files:
            self.look_at(f"export {path.name}", path.read_bytes())


def _frames(data: bytes) -> Iterator[bytes]:
    """Content of the zstd frames in the data, as far as it can be read."""
    view = memoryview(data)  # a store has thousands of frames: nothing is copied for each
    at = data.find(_FRAME)
    while at >= 0:
        with suppress(zstandard.ZstdError):  # these bytes begin no frame
            yield _frame(view[at : at + _MAX_FRAME_BYTES])
        at = data.find(_FRAME, at + 1)


def _frame(view: memoryview) -> bytes:
    """Content of the frame with which the data begins."""
    frame, content = zstandard.ZstdDecompressor().decompressobj(), bytearray()
    for begin in range(0, len(view), _CHUNK_BYTES):
        content += frame.decompress(view[begin : begin + _CHUNK_BYTES])
        if frame.eof:
            break
    return bytes(content)


def _members(data: bytes) -> Iterator[bytes]:
    """Content of the files in a zip, as far as it can be read; nothing if it is none.

    A zip may be damaged: other tests of the same stack damage checkpoints. Its bytes as they are were looked at before.
    """
    if data.startswith(b"PK"):
        with suppress(zipfile.BadZipFile, zlib.error), zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                with suppress(zipfile.BadZipFile, zlib.error):
                    yield archive.read(name)
