"""Names by digest for the images that are not built here: bases of the builds, and the broker."""

import re
from pathlib import Path
from typing import Any, NamedTuple

from mosaic_base.atomic import replace_file
from mosaic_cli.errors import ImagePullFailed
from mosaic_cli.images.engine import inspect_images, pull_image

ENV_FILE = ".env"
"""File next to compose.yaml that Compose reads."""
_BUILD_ARGUMENTS = ("PYTHON_IMAGE", "DEBIAN_IMAGE")
_BROKER = "nats"


class Pin(NamedTuple):
    """An image by its digest."""

    variable: str
    """Variable in compose.yaml that names the image."""
    name: str
    """`REPOSITORY:TAG@DIGEST`: the digest is what counts, the tag says what it was."""


def foreign_images(config: dict[str, Any]) -> dict[str, str]:
    """Names, as `compose.yaml` has them now, of the images that are not built here, by their variables."""
    found: dict[str, str] = {}
    for entry in config["services"].values():
        arguments = (entry.get("build") or {}).get("args") or {}
        for name in _BUILD_ARGUMENTS:
            if name in arguments:
                found[f"MOSAIC_{name}"] = arguments[name]
    if _BROKER in config["services"]:
        found["MOSAIC_NATS_IMAGE"] = config["services"][_BROKER]["image"]
    return found


def pinned(root: Path, variable: str, name: str) -> Pin:
    """Pull what a name means now, and name it by its digest.

    Raises:
        EngineMissing: the engine does not answer.
        ImagePullFailed: it cannot be pulled, and what is here has no digest of a registry.
    """
    tag = name.partition("@")[0]
    refusal = pull_image(root, tag)
    known = inspect_images(root, [tag]).get(tag)
    repository = _repository(tag)
    digests = [
        str(each)
        for each in (known or {}).get("RepoDigests") or []
        if str(each).partition("@")[0]
        == repository  # the same image may have another in another registry
    ]
    if not digests:
        why = refusal or "it was built on this machine"
        raise ImagePullFailed(f"No registry gave a digest for {tag}: {why}. The tag stays in use.")
    return Pin(variable, f"{tag}@{digests[0].rpartition('@')[2]}")


def _repository(tag: str) -> str:
    """A name without its tag, as the engine writes it."""
    path, _, last = tag.rpartition("/")
    name = "/".join(part for part in (path, last.partition(":")[0]) if part)
    return name.removeprefix("docker.io/").removeprefix("library/")


def write_pins(root: Path, pins: list[Pin]) -> Path:
    """Put them into the file, whose other lines stay as they are."""
    path = root / ENV_FILE
    lines = path.read_text().splitlines() if path.exists() else []
    for pin in pins:
        ours = re.compile(rf"\s*(export\s+)?{pin.variable}\s*=")
        lines = [line for line in lines if not ours.match(line)]
        lines.append(f"{pin.variable}={pin.name}")
    replace_file(path, "\n".join(lines) + "\n")
    return path
