"""Which images a checkout builds, and how each stands on the engine."""

import hashlib
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from mosaic_cli.images.engine import compose_config, inspect_images

LABEL_VERSION = "org.opencontainers.image.version"
LABEL_LOCK = "mosaic.lock-digest"
NO_LOCK = "none"
"""Lock digest of an image whose packages have no lock."""
UNKNOWN = "unknown"


class ImageState(StrEnum):
    """How an image stands to the checkout."""

    READY = "ready"
    MISSING = "missing"
    STALE = "stale"
    """Built from other locks, or of another version."""
    UNLABELLED = "unlabelled"
    """Built by Compose alone: nobody knows from which locks."""


@dataclass(frozen=True)
class CheckoutImage:
    """An image that `compose.yaml` builds."""

    name: str
    """As it is called here: the last part of its tag."""
    tag: str
    service: str
    """Service of `compose.yaml` that has its build."""
    lock_digest: str
    """Of the checkout's locks now."""


@dataclass(frozen=True)
class ImageStanding:
    """An image of the checkout and what the engine has of it."""

    image: CheckoutImage
    state: ImageState
    version: str | None = None
    lock_digest: str | None = None
    """That it was built from."""
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
        }


def checkout_images(root: Path) -> list[CheckoutImage]:
    """All of them, services first. Raises EngineMissing: without Compose nobody reads `compose.yaml`."""
    services: dict[str, Any] = compose_config(root)["services"]
    found: dict[str, CheckoutImage] = {}
    for service, entry in services.items():
        if "build" not in entry:
            continue
        tag = str(entry["image"])
        dockerfile = root / entry["build"]["dockerfile"]
        name = tag.rsplit("/", 1)[-1].partition(":")[0]
        found[tag] = CheckoutImage(name, tag, service, lock_digest(dockerfile))
    return sorted(found.values(), key=lambda image: (image.name.startswith("worker_"), image.name))


def standing(root: Path, images: list[CheckoutImage], version: str) -> list[ImageStanding]:
    """How each of them stands. Raises EngineMissing: the engine does not answer."""
    known = inspect_images(root, [image.tag for image in images])
    return [_stand(image, known.get(image.tag), version) for image in images]


def lock_digest(dockerfile: Path) -> str:
    """Digest of the locks that an image is built from: those beside its Dockerfile that are not for tests.

    A Dockerfile that copies none takes its packages from elsewhere, and a lock beside it is for tests.
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


def _stand(image: CheckoutImage, known: dict[str, Any] | None, version: str) -> ImageStanding:
    if known is None:
        return ImageStanding(image, ImageState.MISSING)
    labels: dict[str, str] = known["Config"].get("Labels") or {}
    lock = labels.get(LABEL_LOCK, UNKNOWN)
    if lock == UNKNOWN:
        state = ImageState.UNLABELLED
    elif lock != image.lock_digest or labels.get(LABEL_VERSION) != version:
        state = ImageState.STALE
    else:
        state = ImageState.READY
    return ImageStanding(
        image,
        state,
        version=labels.get(LABEL_VERSION),
        lock_digest=lock,
        bytes=int(known["Size"]),
        created=datetime.fromisoformat(str(known["Created"])),
    )
