"""An image of the engine as a file: Docker's archive, or the Apptainer image (SIF) that is made from that."""

import os
import shlex
import shutil
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mosaic_base.draft_folder import draft_folder
from mosaic_cli.errors import FileProblem, ImageExportFailed, SifNotMade
from mosaic_cli.images.engine import run_docker

PROGRAMS = ("apptainer", "singularity")
"""Programs that make a SIF; the first one that is there is taken."""
SIF_SUFFIX, ARCHIVE_SUFFIX = ".sif", ".tar"
_STDERR = 2


@dataclass(frozen=True)
class ExportedImage:
    """A file that was written."""

    image: str
    """Tag of the image on the engine."""
    id: str
    """Digest of its configuration, by which the engine knows it."""
    path: Path
    format: str
    """`docker-archive` or `sif`."""
    bytes: int

    def plain(self) -> dict[str, Any]:
        """For `--json`."""
        return {**asdict(self), "path": str(self.path)}


def export_archive(root: Path, tag: str, image_id: str, target: Path) -> ExportedImage:
    """Write the image as Docker's archive. A file of that name is replaced once the new one is complete.

    Raises:
        EngineMissing: there is no Docker.
        FileProblem: the folder cannot be written.
        ImageExportFailed: the engine says why, above.
    """
    _require_writable(target)
    with draft_folder(target) as folder:
        draft = folder / f"image{ARCHIVE_SUFFIX}"
        _save(root, tag, draft)
        return _keep(draft, target, tag, image_id, "docker-archive")


def export_sif(root: Path, tag: str, image_id: str, target: Path) -> ExportedImage:
    """Write the image as a SIF. Without Apptainer, write the archive next to it and say what makes the SIF.

    Raises:
        EngineMissing: there is no Docker.
        FileProblem: the folder cannot be written.
        ImageExportFailed: engine or Apptainer say why, above.
        SifNotMade: this machine has no Apptainer; the archive was written.
    """
    program = next((name for name in PROGRAMS if shutil.which(name)), None)
    if program is None:
        archive = target.with_suffix(ARCHIVE_SUFFIX)
        export_archive(root, tag, image_id, archive)
        raise SifNotMade(
            f"This machine has no Apptainer. {archive} has the image as Docker's archive. Where Apptainer is, make the "
            f"SIF with: {build_command(archive, target)}"
        )
    _require_writable(target)
    with draft_folder(target) as folder:
        archive, draft = folder / f"image{ARCHIVE_SUFFIX}", folder / f"image{SIF_SUFFIX}"
        _save(root, tag, archive)
        # Relative names in its folder: a colon in the path would end the archive's name.
        argv = [program, "build", draft.name, f"docker-archive:{archive.name}"]
        done = subprocess.run(argv, cwd=folder, stdout=_STDERR, check=False)
        if done.returncode != 0:
            raise ImageExportFailed(
                f"{shlex.join(argv)} ended with exit code {done.returncode}; its output is above. It unpacks the image "
                "below APPTAINER_TMPDIR (default /tmp), which needs about three times the size of the archive."
            )
        return _keep(draft, target, tag, image_id, "sif")


def build_command(archive: Path, target: Path) -> str:
    """The command that makes a SIF from Docker's archive."""
    return shlex.join(["apptainer", "build", str(target), f"docker-archive:{archive}"])


def _save(root: Path, tag: str, draft: Path) -> None:
    if run_docker(root, "save", "-o", str(draft.absolute()), tag) != 0:
        raise ImageExportFailed(
            f"{tag} could not be saved to {draft.parent.parent}; the engine's own words are above."
        )


def _require_writable(target: Path) -> None:
    if not os.access(target.parent, os.W_OK | os.X_OK) or target.is_dir():
        raise FileProblem(f"{target} cannot be written. Name a file in a folder of yours with -o.")


def _keep(draft: Path, target: Path, tag: str, image_id: str, kind: str) -> ExportedImage:
    size = draft.stat().st_size
    draft.replace(target)
    return ExportedImage(tag, image_id, target, kind, size)
