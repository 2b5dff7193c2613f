"""What MOSAIC takes outside of its data root: environments, uv's cache, images. They are counted and never removed."""

import json
import os
import shlex
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from mosaic_cli.errors import EngineMissing
from mosaic_cli.images.engine import docker
from mosaic_cli.stack.layout import Layout
from mosaic_cli.storage.folders import FolderSize, folder_sizes

CACHE = "uv's cache"
_IMAGES = ("*/mosaic/*", "*/mosaic-own/*")
"""References of the images that MOSAIC builds, whatever registry they name."""


class OutsideKind(StrEnum):
    """What it is."""

    ENVIRONMENT = "environment"
    CACHE = "cache"
    IMAGE = "image"


class OutsideEntry(NamedTuple):
    """One thing outside of the data root."""

    kind: OutsideKind
    name: str
    bytes: int
    frees_bytes: int
    """What its removal alone would free: not what it shares with others by hard links or layers."""
    command: str
    """Removes it."""

    def plain(self) -> dict[str, Any]:
        """For `--json`."""
        return self._asdict()


def outside_entries(
    layout: Layout,
    environ: Mapping[str, str] = os.environ,
    on_folder: Callable[[str], None] = lambda _name: None,
) -> list[OutsideEntry]:
    """Count environments, uv's cache and images of this machine, the largest first.

    Args:
        layout: names the folder of the environments.
        environ: may name another cache.
        on_folder: is called with the name of each folder before it is read.
    """
    cache = uv_cache(environ)
    folders = {**_environments(layout.venvs), CACHE: cache}
    sizes = folder_sizes(folders, on_folder)
    entries = [
        _cache_entry(size) if name == CACHE else _environment_entry(name, folders[name], size)
        for name, size in sizes.items()
    ]
    entries += _images(layout.root)
    return sorted(entries, key=lambda entry: entry.bytes, reverse=True)


def uv_cache(environ: Mapping[str, str]) -> Path:
    """Folder in which uv keeps what it has downloaded."""
    if named := environ.get("UV_CACHE_DIR"):
        return Path(named)
    base = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or "/") / ".cache"
    return Path(base) / "uv"


def _environments(venvs: Path) -> dict[str, Path]:
    if not venvs.is_dir():
        return {}
    found = sorted(venvs.iterdir())
    return {one.name: one for one in found if one.is_dir() and not one.name.startswith(".")}


def _environment_entry(name: str, folder: Path, size: FolderSize) -> OutsideEntry:
    path = shlex.quote(str(folder))
    command = f"rm -r {path}  # ./mosaic sync {name} makes it again"
    return OutsideEntry(OutsideKind.ENVIRONMENT, name, size.bytes, size.own_bytes, command)


def _cache_entry(size: FolderSize) -> OutsideEntry:
    return OutsideEntry(OutsideKind.CACHE, CACHE, size.bytes, size.own_bytes, "uv cache prune")


def _images(root: Path) -> list[OutsideEntry]:
    """Images of the container engine; none where there is no engine."""
    filters = [word for name in _IMAGES for word in ("--filter", f"reference={name}")]
    try:
        listed = docker(root, "image", "ls", "--quiet", "--no-trunc", *filters)
        ids = sorted(set(listed.stdout.split())) if listed.returncode == 0 else []
        if not ids:
            return []
        inspected = docker(root, "image", "inspect", *ids)
    except EngineMissing:
        return []
    found = json.loads(inspected.stdout) if inspected.returncode == 0 else []
    return [_image_entry(image) for image in found]


def _image_entry(image: dict[str, Any]) -> OutsideEntry:
    """An image. Docker does not say cheaply which of its layers others share."""
    name = next(iter(image.get("RepoTags") or []), str(image["Id"]))
    size = int(image["Size"])
    return OutsideEntry(OutsideKind.IMAGE, name, size, size, f"docker image rm {name}")
