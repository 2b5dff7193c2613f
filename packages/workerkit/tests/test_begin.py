"""What a run on another machine fetches before it begins."""

import errno
import os
from pathlib import Path
from typing import cast

import pytest
from tests.run_folder import make_run_folder

from mosaic_contracts.launch import LAUNCH_FILE, Launch
from mosaic_contracts.nodes import CHUNK_BYTES, NodeFile, ReadRequest
from mosaic_workerkit.shipper import begin
from mosaic_workerkit.shipper.node_client import NodeClient


class OneFile:
    """Answers with parts of a file, as the scheduler does."""

    def __init__(self, size: int) -> None:
        self.size = size

    async def read(self, request: ReadRequest) -> tuple[bytes, int]:
        """A part of it, and its size."""
        return b"x" * min(CHUNK_BYTES, self.size - request.offset), self.size


async def test_a_file_that_the_disk_takes_in_part_is_not_whole(small_disk: Path) -> None:
    """A disk that gets full in the middle of the last part refuses the file: no shorter one takes its place."""
    folder = make_run_folder(small_disk / "run", shares_folder=False)
    launch = Launch.model_validate_json((folder / LAUNCH_FILE).read_text())
    (small_disk / "more").write_bytes(b"1" * (_free(small_disk) % CHUNK_BYTES + CHUNK_BYTES // 2))
    size = _free(small_disk) + CHUNK_BYTES // 4
    client = cast("NodeClient", OneFile(size))
    file = NodeFile(path="inputs/model", bytes=size, mode=0o600)
    with pytest.raises(OSError, match="No space") as refused:
        await begin._fetch_file(folder, launch, "claim", client, file)
    assert refused.value.errno == errno.ENOSPC
    assert not (folder / file.path).exists()


def _free(folder: Path) -> int:
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize
