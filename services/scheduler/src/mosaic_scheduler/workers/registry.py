"""Which workers there are: `worker.toml` of the checkout, and a user's own below MOSAIC_HOME."""

import itertools
import re
import shlex
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from mosaic_base.nearest import nearest_names
from mosaic_contracts.fault import fault_place, fault_text
from mosaic_contracts.interpreter import worker_command
from mosaic_contracts.worker import WorkerManifest
from mosaic_scheduler.errors import WorkerUnknown, WorkerUnready
from mosaic_servicekit.logging import get_log

_PYTHON, _HERE = "{python}", "{here}"
IMAGE_PYTHON = "python"
"""Interpreter in an image of a worker."""
_OWN_ROOM = "workerkit"
"""Environment whose interpreter runs the runner, and `{python}`, of a worker that names no room."""


@dataclass(frozen=True)
class RegisteredWorker:
    """A worker and where its manifest lies."""

    manifest: WorkerManifest
    path: Path
    venvs: Path

    @property
    def here(self) -> Path:
        """Folder of the manifest, through a link in `workers.d`: the value of `{here}` in its command."""
        return self.path.resolve().parent

    @property
    def hint(self) -> str:
        """What to do when its command cannot be found; empty: the manifest does not say."""
        return self.manifest.hint.replace(_HERE, shlex.quote(str(self.here)))  # for a command

    @property
    def python(self) -> str:
        """Interpreter of its environment: it runs the run's runner and shipper.

        Raises:
            WorkerUnready: the environment is not there.
        """
        room = self.manifest.room or _OWN_ROOM
        interpreter = self.venvs / room / "bin" / "python"
        if interpreter.exists():
            return str(interpreter)
        if self.manifest.room is None and _PYTHON not in self.manifest.command:
            return self._executable(self.manifest.command[0])
        hint = self.hint or f"Make it with `./mosaic sync {room}`."
        raise WorkerUnready(f"It is not installed on this machine. {hint}")

    @property
    def command(self) -> list[str]:
        """argv before `describe`, `check`, `train`. Raises WorkerUnready as `python` does."""
        command = self.manifest.command
        python = self.python if _PYTHON in command else ""
        argv = worker_command(command, python, str(self.here))
        return argv if command[0] == _PYTHON else [self._executable(command[0]), *argv[1:]]

    @property
    def image_command(self) -> list[str]:
        """argv in its image before `describe`, `check`, `train`; empty: it has none, or it names a folder of here."""
        command = self.manifest.command
        if self.manifest.image is None or any(_HERE in part for part in command):
            return []
        return worker_command(command, IMAGE_PYTHON, None)

    @property
    def is_half_made(self) -> bool:
        """Whether its environment is there and lacks the stamp that is written last."""
        if self.manifest.room is None:
            return False
        folder = self.venvs / self.manifest.room
        return (folder / "bin" / "python").exists() and not any(folder.glob("mosaic-*.stamp"))

    def stamp(self) -> str:
        """Changes when the worker, its environment or its source does; what it said before is then forgotten."""
        files = [self.path]
        for kind in ("py", "md"):  # code, and the documentation that a description carries
            files += sorted(self.here.glob(f"src/**/*.{kind}"))
        files += sorted(self.here.glob("*.py"))
        named = [Path(part.replace(_HERE, str(self.here))) for part in self.manifest.command]
        files += named
        for path in named:
            if path.is_absolute() and path.is_dir():  # a checkout whose scripts it offers
                files += sorted([*path.glob("*.py"), *path.glob("*/*.py")])
            elif path.parent.name == "bin":  # an environment of its own
                files += _marks_of_environment(path.parent.parent)
        if self.manifest.room is not None:
            folder = self.venvs / self.manifest.room
            files += [folder / "bin" / "python", *sorted(folder.glob("*.stamp"))]
        times = [f"{file}:{file.stat().st_mtime_ns}" for file in files if file.exists()]
        return "|".join(times)

    def _executable(self, name: str) -> str:
        program = name.replace(_HERE, str(self.here))
        found = shutil.which(program)
        if found is None:
            raise WorkerUnready(f"{program} cannot be found. {self.hint}".strip())
        return found


def _marks_of_environment(folder: Path) -> list[Path]:
    """Files and folders that change with a virtual environment: what `sync` writes last, and what pip adds to."""
    if not (folder / "pyvenv.cfg").is_file():
        return []
    return [*sorted(folder.glob("*.stamp")), *sorted(folder.glob("lib/python*/site-packages"))]


class ImageWorker(RegisteredWorker):
    """A worker that runs in its image: paths are those of the image, and nothing of it is installed here."""

    @property
    def image(self) -> str:
        """Name of its image.

        Raises:
            WorkerUnready: its manifest names none.
        """
        if self.manifest.image is None:
            raise WorkerUnready(
                f"{self.path.name} names no image; add `image = ...` to run it in a container"
            )
        return self.manifest.image

    @property
    def python(self) -> str:
        """The image's own interpreter."""
        return IMAGE_PYTHON

    @property
    def command(self) -> list[str]:
        """argv before `describe`, `check`, `train`, in the image."""
        if any(_HERE in part for part in self.manifest.command):
            raise WorkerUnready(
                f"{_HERE} in its command is a folder of this machine, which its image does not see; "
                "copy the program into the image and name it as it is called there"
            )
        return worker_command(self.manifest.command, self.python, None)

    def stamp(self) -> str:
        """The manifest alone; who knows the engine adds the image's digest."""
        return f"{self.path}:{self.path.stat().st_mtime_ns}"


@dataclass(frozen=True)
class UnreadableWorker:
    """A manifest that cannot be read, shown so that its author sees why."""

    manifest: WorkerManifest
    """Shown in place of the real one."""
    reason: str


class WorkerRegistry:
    """Reads the manifests; they are few and small, so they are read each time."""

    def __init__(
        self,
        root: Path,
        home: Path,
        venvs: Path,
        kind: type[RegisteredWorker] = RegisteredWorker,
    ) -> None:
        self._root = root
        self._home = home
        self._venvs = venvs
        self._kind = kind
        self._complaints: set[str] = set()

    def workers(self) -> list[RegisteredWorker]:
        """All workers by id, except those that `unreadable` returns."""
        return self._read_all()[0]

    def unreadable(self) -> list[UnreadableWorker]:
        """Manifests that cannot be read, each under an id that no worker has."""
        return self._read_all()[1]

    def _read_all(self) -> tuple[list[RegisteredWorker], list[UnreadableWorker]]:
        paths = [
            *sorted(self._root.glob("services/worker_*/worker.toml")),
            *sorted(self._home.glob("workers.d/*.toml")),
            *sorted(self._home.glob("workers.d/*/worker.toml")),
        ]
        found: dict[str, RegisteredWorker] = {}
        broken: list[tuple[Path, str]] = []
        for path in paths:
            try:
                manifest = WorkerManifest.model_validate(tomllib.loads(path.read_text()))
            except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, ValidationError) as error:
                broken.append((path, _reason(error)))
                self._complain(path, _reason(error))
                continue
            # A user's own worker may take the place of one that comes with MOSAIC.
            found[manifest.id] = self._kind(manifest, path, self._venvs)
        unreadable: list[UnreadableWorker] = []
        for path, reason in broken:
            taken = {*found, *(worker.manifest.id for worker in unreadable)}
            unreadable.append(_stand_in(path, reason, taken))
        return [found[name] for name in sorted(found)], unreadable

    def find(self, name: str) -> RegisteredWorker:
        """The worker with this id or alias.

        Raises:
            WorkerUnknown: there is none.
        """
        workers = self.workers()
        for worker in workers:
            if name == worker.manifest.id:
                return worker
        for worker in workers:
            if name in worker.manifest.aliases:
                return worker
        names = [n for w in workers for n in (w.manifest.id, *w.manifest.aliases)]
        raise WorkerUnknown(name, nearest_names(name, names))

    def _complain(self, path: Path, reason: str) -> None:
        complaint = f"{path}: {reason}"
        if complaint not in self._complaints:
            self._complaints.add(complaint)
            get_log().error("manifest.invalid", path=str(path), error=reason)


def _stand_in(path: Path, reason: str, taken: set[str]) -> UnreadableWorker:
    """A worker of which no more is known than its file's name, or its folder's."""
    stem = path.parent.name if path.name == "worker.toml" else path.stem
    # As many letters of an id as are left when a number goes after it.
    base = re.sub(r"[^a-z0-9_]", "_", stem.lower()).lstrip("0123456789_")[:30] or "unreadable"
    names = (base if n == 1 else f"{base}_{n}" for n in itertools.count(1))
    name = next(name for name in names if name not in taken)
    manifest = WorkerManifest(id=name, title=f"{path.name} cannot be read", command=[str(path)])
    return UnreadableWorker(manifest, f"{path} cannot be read. {reason} Correct the file.")


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return " ".join(f"{fault_place(e)}: {fault_text(e)}." for e in error.errors())
    return f"{error}."
