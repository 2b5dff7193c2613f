"""Clips in a run's folder that nobody announced, because the worker was killed before it could."""

from collections.abc import Container
from pathlib import Path

from mosaic_contracts.clips import CLIP_KIND, CLIPS_DIR, parse_clip_name
from mosaic_contracts.runs import ArtifactRow
from mosaic_gateway.files.folder import PathRefused, resolve_inside

_PICTURES = b"moof"
"""Begins each fragment of an MP4. A file without one has no picture and does not play."""
_HEAD_BYTES = 2**16


def find_clips(folder: Path, known: Container[str]) -> list[ArtifactRow]:
    """List the clips that play and are not among `known`, by name.

    Args:
        folder: of the run.
        known: paths that were announced.
    """
    try:
        files = sorted(resolve_inside(folder, CLIPS_DIR).iterdir())
    except (PathRefused, OSError):
        return []
    rows = []
    for file in files:
        shown, path = parse_clip_name(file.name), f"{CLIPS_DIR}/{file.name}"
        if shown is not None and path not in known and (size := _playable_bytes(file)):
            rows.append(ArtifactRow(path=path, kind=CLIP_KIND, bytes=size, **shown._asdict()))
    return rows


def _playable_bytes(file: Path) -> int:
    """Size of a video that plays; 0: it does not, or it is no regular file."""
    try:
        if file.is_symlink() or not file.is_file():
            return 0
        with file.open("rb") as opened:
            return file.stat().st_size if _PICTURES in opened.read(_HEAD_BYTES) else 0
    except OSError:
        return 0
