"""What of an ended run can be sent to W&B: its own W&B folders, or its checkpoints and videos."""

import json
import os
import stat
from pathlib import Path
from typing import NamedTuple

from mosaic_contracts.launch import MANIFEST_FILE
from mosaic_contracts.sync_source import SyncWay
from mosaic_contracts.syncs import WANDB_DIR, WANDB_NOT_SENT, SyncRequest
from mosaic_scheduler.errors import InputUnusable
from mosaic_scheduler.executors.run_files import open_inside

_MAX_MANIFEST_BYTES = 8 * 2**20


class Sendable(NamedTuple):
    """How a run is sent, and how much there is."""

    way: SyncWay
    checkpoints: int
    videos: int
    files: int
    bytes: int


def find_sendable(run_dir: Path, request: SyncRequest) -> Sendable:
    """Look into the folder of a run. No link is followed. Blocks: call it in a thread."""
    sizes = [size for folder in _wandb_folders(run_dir / WANDB_DIR) for size in _sizes(folder)]
    if sizes:
        return Sendable("folder", 0, 0, len(sizes), sum(sizes))
    wanted = {"checkpoint": request.checkpoints, "video": request.videos}
    found = dict[str, tuple[str, int]]()
    for kind, path in _announced(run_dir):
        size = _size_inside(run_dir, path) if wanted.get(kind) else None
        if size is not None:
            found[path] = (kind, size)
    kinds = [kind for kind, _ in found.values()]
    total = sum(size for _, size in found.values())
    return Sendable("store", kinds.count("checkpoint"), kinds.count("video"), len(found), total)


def _wandb_folders(root: Path) -> list[Path]:
    """Folders of W&B runs: each has one `.wandb` file."""
    try:
        found = [
            Path(entry.path) for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False)
        ]
    except OSError:
        return []
    return [folder for folder in found if any(folder.glob("*.wandb"))]


def _sizes(folder: Path) -> list[int]:
    found = []
    for place, folders, names in os.walk(folder, followlinks=False):
        if Path(place) == folder:
            folders[:] = [name for name in folders if name not in WANDB_NOT_SENT]
        for name in names:
            status = Path(place, name).lstat()
            if stat.S_ISREG(status.st_mode):
                found.append(status.st_size)
    return found


def _announced(run_dir: Path) -> list[tuple[str, str]]:
    """Kind and path of each file that the run announced."""
    try:
        with os.fdopen(open_inside(run_dir, MANIFEST_FILE), "rb") as file:
            entries = json.loads(file.read(_MAX_MANIFEST_BYTES))["artifacts"]
        return [(str(entry["kind"]), str(entry["path"])) for entry in entries]
    except (InputUnusable, OSError, ValueError, KeyError, TypeError):
        return []  # the run announced nothing that can be read


def _size_inside(run_dir: Path, path: str) -> int | None:
    try:
        file = open_inside(run_dir, path)
    except InputUnusable:
        return None
    try:
        return os.fstat(file).st_size
    finally:
        os.close(file)
