"""Which images a checkout builds, and how each stands on the engine."""

import hashlib
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from mosaic_cli.images.engine import inspect_images
from mosaic_cli.images.sources import source_digest

LABEL_VERSION = "org.opencontainers.image.version"
LABEL_LOCK = "mosaic.lock-digest"
LABEL_SOURCE = "mosaic.source-digest"
LABEL_BASE = "org.opencontainers.image.base.digest"
_CONTENTS = ("torch", "bundles")
"""Labels `mosaic.<name>`: what there is in an image that another build of it may lack."""
_BASE_ARGUMENT = "_IMAGE"
"""Ending of build arguments that name a base image."""
NO_LOCK = "none"
"""Lock digest of an image whose packages have no lock."""
UNKNOWN = "unknown"


class ImageState(StrEnum):
    """How an image stands to the checkout."""

    READY = "ready"
    MISSING = "missing"
    STALE = "stale"
    """Built from other locks, sources or bases, or of another version."""
    UNLABELLED = "unlabelled"
    """Built by Compose alone: nobody knows from what."""


@dataclass(frozen=True)
class CheckoutImage:
    """An image that `compose.yaml` builds."""

    name: str
    """As it is called here: the last part of its tag."""
    tag: str
    service: str
    """Service of `compose.yaml` that has its build."""
    lock_digest: str
    """Digest of the checkout's locks as they are now."""
    source_digest: str
    """Digest of the checkout's files that it is built from, as they are now."""
    base: str
    """Name of the image that it is built upon."""


@dataclass(frozen=True)
class ImageStanding:
    """An image of the checkout and what the engine has of it."""

    image: CheckoutImage
    state: ImageState
    version: str | None = None
    lock_digest: str | None = None
    """That it was built from."""
    stale: tuple[str, ...] = ()
    """What is not as it was when it was built: `version`, `locks`, `sources`, `base`."""
    contents: dict[str, str] = field(default_factory=dict)
    """What there is in it that another build may lack: `torch`, `bundles`."""
    base_digest: str | None = None
    """Digest of the image that it was built upon."""
    bytes: int | None = None
    created: datetime | None = None

    def plain(self) -> dict[str, Any]:
        """For `--json`."""
        built = {name: value for name, value in asdict(self).items() if name != "image"}
        created = self.created.isoformat() if self.created else None
        wanted = self.image.lock_digest
        return {
            "name": self.image.name,
            "tag": self.image.tag,
            **built,
            "created": created,
            "wanted_lock": wanted,
            "base": self.image.base,
        }


def checkout_images(root: Path, config: dict[str, Any]) -> list[CheckoutImage]:
    """All images that `config` (`compose_config`) builds, services first."""
    services: dict[str, Any] = config["services"]
    found: dict[str, CheckoutImage] = {}
    for service, entry in services.items():
        if "build" not in entry:
            continue
        tag = str(entry["image"])
        dockerfile = root / entry["build"]["dockerfile"]
        found[tag] = CheckoutImage(
            tag.rsplit("/", 1)[-1].partition(":")[0],
            tag,
            service,
            lock_digest(dockerfile),
            source_digest(root, dockerfile),
            base_of(dockerfile, entry["build"].get("args") or {}),
        )
    return sorted(found.values(), key=lambda image: (image.name.startswith("worker"), image.name))


def base_of(dockerfile: Path, arguments: dict[str, str]) -> str:
    """The image that the last stage of a Dockerfile is built upon, its own arguments filled in."""
    stages = [line.split() for line in dockerfile.read_text().splitlines()]
    base = [words[1] for words in stages if words[:1] == ["FROM"]][-1]
    for name, value in arguments.items():
        if name.endswith(_BASE_ARGUMENT):
            base = base.replace(f"${{{name}}}", value)
    return base


def standing(root: Path, images: list[CheckoutImage], version: str) -> list[ImageStanding]:
    """How each of them stands. Raises EngineMissing: the engine does not answer."""
    names = [*(image.tag for image in images), *{image.base for image in images}]
    known = inspect_images(root, names)
    return [_stand(image, known.get(image.tag), known.get(image.base), version) for image in images]


def labels_of(image: CheckoutImage, bases: dict[str, dict[str, Any]]) -> dict[str, str]:
    """What a build of the image is labelled with; `bases`: what the engine has of its base."""
    base = bases.get(image.base)
    return {
        LABEL_SOURCE: image.source_digest,
        LABEL_BASE: "" if base is None else str(base["Id"]),
        "org.opencontainers.image.base.name": image.base,
    }


def lock_digest(dockerfile: Path) -> str:
    """Digest of the locks that an image is built from: those next to its Dockerfile that are not for tests.

    A Dockerfile that copies none takes its packages from elsewhere, and a lock next to it is for tests.
    """
    copied = (line for line in dockerfile.read_text().splitlines() if line.startswith("COPY "))
    if not any(".lock" in line for line in copied):
        return NO_LOCK
    folder = dockerfile.parent
    files = [*folder.glob("*.lock"), *folder.glob("torch.txt")]
    files = sorted(file for file in files if file.name != "requirements.dev.lock")
    if not files:
        return NO_LOCK
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.name}\n".encode() + file.read_bytes())
    return digest.hexdigest()


def _stand(
    image: CheckoutImage,
    known: dict[str, Any] | None,
    base: dict[str, Any] | None,
    version: str,
) -> ImageStanding:
    if known is None:
        return ImageStanding(image, ImageState.MISSING)
    labels: dict[str, str] = known["Config"].get("Labels") or {}
    lock = labels.get(LABEL_LOCK, UNKNOWN)
    stale = _stale(image, labels, base, version)
    if lock == UNKNOWN or LABEL_SOURCE not in labels:
        state = ImageState.UNLABELLED
    else:
        state = ImageState.STALE if stale else ImageState.READY
    contents = {name: labels.get(f"mosaic.{name}", "") for name in _CONTENTS}
    return ImageStanding(
        image,
        state,
        version=labels.get(LABEL_VERSION),
        lock_digest=lock,
        stale=stale if state is ImageState.STALE else (),
        contents={name: value for name, value in contents.items() if value},
        base_digest=labels.get(LABEL_BASE) or None,
        bytes=int(known["Size"]),
        created=datetime.fromisoformat(str(known["Created"])),
    )


def _stale(
    image: CheckoutImage, labels: dict[str, str], base: dict[str, Any] | None, version: str
) -> tuple[str, ...]:
    """What an image was built from that is not so now. A base that is not on this engine (any more) says nothing."""
    base_then, base_now = labels.get(LABEL_BASE), None if base is None else str(base["Id"])
    differs = {
        "version": labels.get(LABEL_VERSION) != version,
        "locks": labels.get(LABEL_LOCK) != image.lock_digest,
        "sources": labels.get(LABEL_SOURCE) != image.source_digest,
        "base": bool(base_then) and base_now is not None and base_then != base_now,
    }
    return tuple(name for name, is_other in differs.items() if is_other)
