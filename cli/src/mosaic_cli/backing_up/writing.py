"""Makes a backup of a data root while its stack and its runs go on (ADR 0032).

The order of copying is what makes it consistent. Each part is at least as new as what was copied before it needs:
the scheduler's runs; of those the control files and the outboxes; the telemetry store, which has all that was freed
from an outbox; then all other files, which the store names. Meanwhile the scheduler moves no file to the trash or back.
"""

import json
import os
import secrets
import shutil
import socket
import sqlite3
import stat
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, NamedTuple

from mosaic_base.atomic import atomic_file
from mosaic_base.locks import held_lock
from mosaic_base.sealed_zip import SealedZipWriter, is_safe_name
from mosaic_cli.backing_up import snapshot
from mosaic_cli.errors import BackupFailed, NothingFound
from mosaic_contracts import VERSION
from mosaic_contracts.backups import (
    BACKUP_CONTENT,
    BACKUP_FACTS,
    BACKUP_INDEX,
    BackupFacts,
)
from mosaic_contracts.launch import OUTBOX_DIR
from mosaic_contracts.stack_files import (
    BACKED_UP,
    BACKUP_LOCK,
    CONTAINERS_STORE,
    RUNS_DIR,
    SCHEDULER_DB,
    TELEMETRY_DB,
    TOKEN_FILE,
    USER_SECRETS,
)

Progress = Callable[[int], None]
_PIECE_BYTES = 2**20
_SAMPLE_BYTES = 2**16
_WORTH_IT = 0.9
"""A file whose beginning shrinks below this share is compressed."""
_CONTROL = "control"
_CREDENTIALS = frozenset({"secrets", "xmpp"})
"""Folders of `control/` with what a run is given to log in elsewhere."""
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAX_NAMED = 100
"""Paths that the facts name as left out."""


class Written(NamedTuple):
    """A backup that was made."""

    facts: BackupFacts
    bytes: int
    """Size of the file."""


def write_backup(home: Path, target: Path, *, with_secrets: bool, progress: Progress) -> Written:
    """Make a backup.

    Args:
        home: the data root.
        target: the file. An older one is replaced once the new one is complete.
        with_secrets: also copy the values of the user's secrets and the gateway's token.
        progress: called with the number of bytes that were read since its last call.

    Raises:
        NothingFound: there is no stack's data.
        BackupFailed: something cannot be read, or the disk is full. Nothing is left.
    """
    if not (home / SCHEDULER_DB).is_file():
        raise NothingFound(
            f"{home} has no data of a stack. Name the folder with MOSAIC_HOME, or start a stack with `./mosaic up`. "
            "For a stack in containers docs/backup.md has commands that copy its volume."
        )
    if (home / CONTAINERS_STORE).is_dir():
        raise BackupFailed(
            f"{home} is the volume of a stack in containers, and no backup was made. Stop its services and copy the "
            "volume: docs/backup.md has the commands."
        )
    try:
        with (
            held_lock(home / BACKUP_LOCK, shared=True),  # no file goes to the trash meanwhile
            atomic_file(target, durable=True) as draft,
        ):
            with draft.open("xb") as file:
                os.fchmod(file.fileno(), 0o600)
                facts = _Copy(home, target.parent, file, with_secrets, progress).make()
            size = draft.stat().st_size
    except OSError as error:
        named = error.filename or target
        raise BackupFailed(f"{named}: {error.strerror or error}. {_remedy(target)}") from error
    except sqlite3.Error as error:
        raise BackupFailed(f"A database cannot be copied ({error}). {_remedy(target)}") from error
    return Written(facts, size)


def _remedy(target: Path) -> str:
    room = (
        f" {shutil.disk_usage(target.parent).free >> 20:,} MiB are free there."
        if target.parent.is_dir()
        else ""
    )
    return (
        f"No backup was made, and {target} is as it was.{room} A backup needs room for itself and for a copy of the "
        "largest database."
    )


class _Copy:
    """One backup in the making."""

    def __init__(
        self, home: Path, folder: Path, file: BinaryIO, with_secrets: bool, progress: Progress
    ) -> None:
        self._home = home
        self._folder = folder
        self._zip = SealedZipWriter(file)
        self._progress = progress
        self._index = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - closed with this copy
        self._left_out: list[str] = []
        self._facts = BackupFacts(
            id=secrets.token_hex(8),
            made_at=time.time(),
            host=socket.gethostname(),
            mosaic=VERSION,
            with_secrets=with_secrets,
        )

    def make(self) -> BackupFacts:
        with self._zip, self._index:
            runs = self._copy_databases()
            for run in runs.ids:
                self._add_tree(f"{RUNS_DIR}/{run}", leave_out={_CONTROL, OUTBOX_DIR})
            self._add_own()
            self._add_secrets()
            self._facts.runs = len(runs.ids)
            self._facts.live = runs.live
            self._facts.left_out = self._left_out[:_MAX_NAMED]
            self._seal()
        return self._facts

    def _copy_databases(self) -> snapshot.StackRuns:
        """Copy databases, and between them what has to be older than the store."""
        with ExitStack() as stack:
            with snapshot.opened(self._home / SCHEDULER_DB) as source:
                runs = snapshot.runs_of(source)
                copy = stack.enter_context(snapshot.copied(source, self._folder, self._progress))
            self._add_database(SCHEDULER_DB, copy)
            for run in runs.ids:
                self._add_tree(f"{RUNS_DIR}/{run}/{_CONTROL}", leave_out=_CREDENTIALS)
                self._add_tree(f"{RUNS_DIR}/{run}/{OUTBOX_DIR}")
            if (self._home / TELEMETRY_DB).is_file():
                with snapshot.opened(self._home / TELEMETRY_DB) as source:
                    self._facts.stored = snapshot.stored_seqs(source)
                    copy = stack.enter_context(
                        snapshot.copied(source, self._folder, self._progress)
                    )
                self._add_database(TELEMETRY_DB, copy)
        return runs

    def _add_database(self, path: str, copy: snapshot.DatabaseCopy) -> None:
        self._add_content(path, copy.file, 0o600, copy.mtime_ns)

    def _add_own(self) -> None:
        """What belongs to the stack as a whole."""
        for name in sorted(os.listdir(self._home)):  # noqa: PTH208 - names alone
            if name not in BACKED_UP:
                self._left_out.append(name)
            elif name not in ("db", RUNS_DIR, "secrets"):
                self._add_tree(name)

    def _add_secrets(self) -> None:
        folder = self._home / USER_SECRETS
        if folder.is_dir():
            names = os.listdir(folder)  # noqa: PTH208 - names alone
            self._facts.secrets = sorted(name for name in names if not name.startswith("."))
        if self._facts.with_secrets:
            for name in self._facts.secrets:
                self._add_tree(f"{USER_SECRETS}/{name}")
            self._add_tree(TOKEN_FILE)

    def _add_tree(self, path: str, leave_out: frozenset[str] | set[str] = frozenset()) -> None:
        """Add a file, or a folder with all that is below it. What vanishes meanwhile is no longer part of the stack."""
        place = self._home / path
        try:
            found = place.lstat()
            if stat.S_ISDIR(found.st_mode):
                self._note({"path": path, "type": "folder", "mode": stat.S_IMODE(found.st_mode)})
                for name in sorted(os.listdir(place)):  # noqa: PTH208 - names alone
                    if name not in leave_out and not _is_transient(path, name):
                        self._add_tree(f"{path}/{name}")
            elif stat.S_ISLNK(found.st_mode):
                self._add_link(path, str(place.readlink()))
            elif stat.S_ISREG(found.st_mode):
                self._add_file(path, place)
        except (FileNotFoundError, NotADirectoryError):
            return
        except PermissionError as error:
            self._left_out.append(f"{_shown(path)} ({error.strerror})")

    def _add_file(self, path: str, place: Path) -> None:
        fd = os.open(place, _OPEN)
        with os.fdopen(fd, "rb", buffering=0) as file:
            now = os.fstat(fd)
            if stat.S_ISREG(now.st_mode):
                self._add_content(path, file, stat.S_IMODE(now.st_mode), now.st_mtime_ns)

    def _add_content(self, path: str, file: BinaryIO, mode: int, mtime_ns: int) -> None:
        # A log grows while it is read: as much as it had is copied.
        left = os.fstat(file.fileno()).st_size
        file.seek(0)
        piece = file.read(min(_PIECE_BYTES, left))
        entry = self._entry_name(path)
        line: dict[str, object] = {"path": path, "type": "file", "mode": mode, "mtime_ns": mtime_ns}
        self._note(line if entry == BACKUP_CONTENT + path else {**line, "entry": entry})
        with self._zip.entry(entry, compress=_shrinks(piece)) as content:
            while piece:
                content.write(piece)
                self._progress(len(piece))
                left -= len(piece)
                piece = file.read(min(_PIECE_BYTES, left))
        self._facts.files += 1
        self._facts.bytes += content.bytes

    def _add_link(self, path: str, leads_to: str) -> None:
        """A link within the folder of its run stays one; what another one leads to is not the stack's."""
        if link_stays_inside(path, leads_to):
            self._note({"path": path, "type": "link", "target": leads_to})
        else:
            self._left_out.append(f"{_shown(path)} (a link to {_shown(leads_to)})")

    def _entry_name(self, path: str) -> str:
        name = BACKUP_CONTENT + path
        return name if is_safe_name(name) else f"named/{self._facts.files}"

    def _note(self, line: dict[str, object]) -> None:
        # a name without UTF-8 is written with surrogates as JSON escapes
        self._index.write(json.dumps(line).encode() + b"\n")

    def _seal(self) -> None:
        self._index.seek(0)
        with self._zip.entry(BACKUP_INDEX, compress=True) as content:
            for piece in _pieces(self._index):
                content.write(piece)
        self._zip.add(BACKUP_FACTS, self._facts.model_dump_json(indent=1).encode())
        self._zip.seal()


def link_stays_inside(path: str, leads_to: str) -> bool:
    """Whether a link in a run's folder leads to something in the same folder."""
    parts = path.split("/")
    if parts[0] != RUNS_DIR or len(parts) < 3 or leads_to.startswith("/") or "\0" in leads_to:
        return False
    depth = len(parts) - 3
    for part in leads_to.split("/"):
        if part == "..":
            depth -= 1
        elif part not in ("", "."):
            depth += 1
        if depth < 0:
            return False
    return True


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(_PIECE_BYTES):
        yield piece


def _is_transient(folder: str, name: str) -> bool:
    """Whether a file is a run's credentials, or one that is being written."""
    is_draft = name.startswith(".") and name.endswith(".draft")
    return is_draft or (folder.endswith(f"/{_CONTROL}") and name.endswith(".creds"))


def _shrinks(beginning: bytes) -> bool:
    sample = beginning[:_SAMPLE_BYTES]
    return len(zlib.compress(sample, 1)) < _WORTH_IT * len(sample)


def _shown(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
