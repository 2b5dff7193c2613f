"""Imports runs from an archive, or from files of another program, for the verb and for the window."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError

from mosaic_cli.errors import FileProblem, ValueRefused
from mosaic_cli.foreign.errors import ForeignInvalid
from mosaic_cli.foreign.finding import find_foreign_runs, is_foreign
from mosaic_client.archive.foreign import ForeignRun, write_foreign_archive
from mosaic_client.errors import ArchiveRefused
from mosaic_contracts.checkpoint_words import EXPORT_FACTS
from mosaic_contracts.fault import fault_place, fault_text
from mosaic_contracts.file_jobs import FileJobPhase, FileJobProgress
from mosaic_contracts.file_names import name_part
from mosaic_contracts.run_archives import ArchiveImport, ImportedRun

if TYPE_CHECKING:
    from mosaic_client import Client

OnProgress = Callable[[FileJobProgress], None]
_FOREIGN_AT_ONCE = 200
"""Runs of other programs in one archive."""
_HEAD_BYTES = 30
"""Bytes of a zip before the name of its first entry."""


class Imported(NamedTuple):
    """What became of an import."""

    runs: list[ImportedRun]
    remarks: list[str]
    """What the user should know, in words."""
    answer: ArchiveImport | None = None
    """The stack's answer to a single archive; None: runs of another program were imported."""


def import_runs(client: "Client", path: Path, on_progress: OnProgress) -> Imported:
    """Import what a file or folder has.

    Args:
        client: of the stack that gets the runs.
        path: an archive, or files of TensorBoard, W&B or mlflow.
        on_progress: called often.

    Raises:
        ValueRefused: it has no runs, is a checkpoint, or was damaged.
        FileProblem: it cannot be read.
        ClientError: the stack refuses it.
    """
    if is_checkpoint(path):
        raise ValueRefused(
            f"{path} is an exported checkpoint. Import it with `./mosaic checkpoints import {path}`."
        )
    if is_foreign(path):
        return _import_foreign(client, path, on_progress)
    answer = _send(client, path, on_progress)
    return Imported(answer.runs, [], answer)


def is_checkpoint(file: Path) -> bool:
    """Whether a file is an exported checkpoint."""
    if not file.is_file():
        return False
    with file.open("rb") as opened:
        head = opened.read(_HEAD_BYTES + len(EXPORT_FACTS))
    return head[_HEAD_BYTES:] == EXPORT_FACTS.encode()


def _import_foreign(client: "Client", path: Path, on_progress: OnProgress) -> Imported:
    """Import runs of other programs: they are made archives, which take the way of all archives."""
    answers: list[ImportedRun] = []
    on_progress(FileJobProgress(phase=FileJobPhase.LOOKING))
    with tempfile.TemporaryDirectory(prefix="mosaic-import-") as folder, _in_words(path):
        runs = find_foreign_runs(path)
        target = Path(folder) / (name_part(path.absolute().name) or "import")
        for first in range(0, len(runs), _FOREIGN_AT_ONCE):
            converting = FileJobPhase.CONVERTING
            on_progress(FileJobProgress(phase=converting, done=first, total=len(runs)))
            write_foreign_archive(runs[first : first + _FOREIGN_AT_ONCE], target)
            answers += _send(client, target, on_progress).runs
            target.unlink()
    return Imported(answers, _remarks(runs))


def _send(client: "Client", file: Path, on_progress: OnProgress) -> ArchiveImport:
    total = file.stat().st_size if file.is_file() else None

    def sent(done: int) -> None:
        phase = FileJobPhase.CHECKING if done == total else FileJobPhase.SENDING
        on_progress(FileJobProgress(phase=phase, done=done, total=total))

    return client.import_archive(file, sent)


def _remarks(runs: list[ForeignRun]) -> list[str]:
    return list(dict.fromkeys(remark for run in runs for remark in run.remarks))


@contextmanager
def _in_words(path: Path) -> Iterator[None]:
    """Say what is wrong with files of another program."""
    try:
        yield
    except ForeignInvalid as error:
        raise ValueRefused(
            f"{error}. Nothing was imported. Move this file away to import the others."
        ) from error
    except ArchiveRefused as error:
        raise ValueRefused(f"{error} Name a folder with fewer.") from error
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise ValueRefused(
            f"A run in {path} has a value that no run here can have: {fault_place(fault)} {fault_text(fault)}. "
            "Nothing was imported."
        ) from error
    except OSError as error:
        raise FileProblem(
            f"{error.filename or path} cannot be used ({error.strerror or error}). Nothing was imported."
        ) from error
