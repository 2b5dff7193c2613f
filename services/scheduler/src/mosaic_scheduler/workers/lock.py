"""A digest of the dependencies that a worker is locked to."""

from hashlib import sha256

from mosaic_scheduler.workers.registry import RegisteredWorker

_LOCK = "requirements.lock"
_BUNDLE = "bundle-"


def lock_digest(worker: RegisteredWorker) -> str | None:
    """SHA-256 of a worker's lock and those of the bundles that its environment has; None: it has no lock."""
    try:
        made = sha256((worker.here / _LOCK).read_bytes())
    except OSError:
        return None
    for lock in sorted(worker.here.glob(f"{_BUNDLE}*.lock")):
        if worker.manifest.room is not None and _has_bundle(worker, lock.stem):
            made.update(f"\n{lock.name}\n".encode() + lock.read_bytes())
    return made.hexdigest()


def _has_bundle(worker: RegisteredWorker, name: str) -> bool:
    return (worker.venvs / str(worker.manifest.room) / f"mosaic-{name}.stamp").exists()
