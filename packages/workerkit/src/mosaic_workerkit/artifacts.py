"""Files of a run that others may rely on: whole or absent, with their digest, listed in `manifest.json`."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mosaic_contracts.launch import MANIFEST_FILE
from mosaic_workerkit.errors import ArtifactPathRefused

_CHUNK_BYTES = 2**20


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Give a temporary path in the same folder; what was written there becomes `path`, durably, at the end.

    When the block or the disk fails nothing is left and an older `path` stays as it was.

    Raises:
        OSError: the disk refused, e.g. ENOSPC.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        yield draft
        _sync(draft)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    _sync(path.parent)


def sha256_of(path: Path) -> str:
    """Hex digest of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files below a folder."""
    if path.is_file():
        return path.stat().st_size
    return sum(part.lstat().st_size for part in path.rglob("*") if part.is_file())


def inside_run(run_dir: Path, path: str | Path) -> str:
    """The path relative to the run folder, in POSIX form.

    Raises:
        ArtifactPathRefused: it leaves the run folder (also through a link), or does not exist.
    """
    root = run_dir.resolve()
    full = (root / path).resolve()
    if full == root or not full.is_relative_to(root):
        raise ArtifactPathRefused(
            f"{path} is not inside the run folder; write run files below {root}"
        )
    if not full.exists():
        raise ArtifactPathRefused(f"{path} does not exist; announce a file when it is complete")
    return full.relative_to(root).as_posix()


def add_to_manifest(run_dir: Path, entry: dict[str, Any]) -> None:
    """Add or replace the entry of `entry["path"]` in the run's manifest."""
    path = run_dir / MANIFEST_FILE
    entries = {known["path"]: known for known in read_manifest(run_dir)}
    entries[entry["path"]] = entry
    with atomic_file(path) as draft:
        draft.write_text(json.dumps({"v": 1, "artifacts": list(entries.values())}, indent=1) + "\n")


def read_manifest(run_dir: Path) -> list[dict[str, Any]]:
    """Entries of the run's manifest, in the order in which they were first announced."""
    path = run_dir / MANIFEST_FILE
    if not path.exists():
        return []
    listed: list[dict[str, Any]] = json.loads(path.read_text())["artifacts"]
    return listed


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
