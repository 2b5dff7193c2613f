"""Copies of the checkpoints that a script writes outside the folder of its run."""

import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from mosaic_workerkit.telemetry import Telemetry

FOLDER = "checkpoints"
AGAIN_S = 30.0
"""A file that is written again sooner than that is copied later, or at the script's end."""
KEPT_FREE_BYTES = 4 * 2**30
"""A copy that would leave less free space on the volume of the run's folder is not made."""


@dataclass
class _Adopted:
    """A file of the script."""

    kind: str
    step: int
    copied_at: float = 0.0
    is_stale: bool = True


class AdoptedFiles:
    """Announces what the script has saved, as a copy in the run's folder where it lies elsewhere."""

    def __init__(self, telemetry: Telemetry, run_dir: Path) -> None:
        self._telemetry = telemetry
        self._run_dir = run_dir.resolve()
        self._files: dict[Path, _Adopted] = {}

    def take(self, path: Path, step: int, kind: str) -> None:
        """Announce a file that the script has written.

        Raises:
            OSError: it cannot be copied.
        """
        file = self._files.setdefault(path, _Adopted(kind, step))
        file.step, file.is_stale = step, True
        if time.monotonic() - file.copied_at >= AGAIN_S or not file.copied_at:
            self._announce(path, file, "periodic")

    def finish(self) -> None:
        """Announce what was written again since its last copy.

        Raises:
            OSError: as for `take`.
        """
        for path, file in self._files.items():
            if file.is_stale and path.is_file():
                self._announce(path, file, "final")

    def _announce(self, path: Path, file: _Adopted, reason: str) -> None:
        place = path
        if self._run_dir not in path.parents:
            size = path.stat().st_size
            if shutil.disk_usage(self._run_dir).free - size < KEPT_FREE_BYTES:
                words = (
                    f"{path} ({size:,} bytes) was not copied into the run's folder, for lack of free space. It is "
                    "where the script has written it; `./mosaic disk` says what fills the disk."
                )
                self._telemetry.note("checkpoint-not-copied", words, kept=True)
                return
            place = self._run_dir / FOLDER / f"{path.stem}-{file.step}{path.suffix}"
            place.parent.mkdir(parents=True, exist_ok=True)
            half = place.with_name(f".{place.name}.half")
            shutil.copyfile(path, half)
            half.replace(place)
        file.copied_at, file.is_stale = time.monotonic(), False
        said = {"saved_by": file.kind, "saved_as": str(path)}
        self._telemetry.checkpoint(place, file.step, reason, said)
