"""Which workers there are: `worker.toml` of the checkout, and a user's own below MOSAIC_HOME."""

import difflib
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from mosaic_contracts.worker import WorkerManifest
from mosaic_scheduler.errors import WorkerNotReady, WorkerUnknown
from mosaic_servicekit.logging import get_log

_PYTHON = "{python}"


@dataclass(frozen=True)
class RegisteredWorker:
    """A worker and where its manifest lies."""

    manifest: WorkerManifest
    path: Path
    venvs: Path

    @property
    def python(self) -> str:
        """Interpreter of its environment.

        Raises:
            WorkerNotReady: the environment is not there.
        """
        if self.manifest.room is None:
            found = shutil.which(self.manifest.command[0])
            if found is None:
                raise WorkerNotReady(
                    f"{self.manifest.command[0]} cannot be found. {self.manifest.hint}".strip()
                )
            return found
        interpreter = self.venvs / self.manifest.room / "bin" / "python"
        if not interpreter.exists():
            hint = self.manifest.hint or f"Make it with `./mosaic sync {self.manifest.room}`."
            raise WorkerNotReady(f"Its environment is missing ({interpreter}). {hint}")
        return str(interpreter)

    @property
    def command(self) -> list[str]:
        """argv before `describe`, `check`, `train`. Raises WorkerNotReady as `python` does."""
        return [self.python if part == _PYTHON else part for part in self.manifest.command]

    def stamp(self) -> str:
        """Changes when the worker, its environment or its source does; what it said before is then forgotten."""
        files = [self.path, *sorted(self.path.parent.glob("src/**/*.py"))]
        if self.manifest.room is not None:
            folder = self.venvs / self.manifest.room
            files += [folder / "bin" / "python", *sorted(folder.glob("*.stamp"))]
        times = [f"{file}:{file.stat().st_mtime_ns}" for file in files if file.exists()]
        return "|".join(times)


class WorkerRegistry:
    """Reads the manifests; they are few and small, so they are read each time."""

    def __init__(self, root: Path, home: Path, venvs: Path) -> None:
        self._root = root
        self._home = home
        self._venvs = venvs
        self._complaints: set[str] = set()

    def workers(self) -> list[RegisteredWorker]:
        """All workers by id. A manifest that cannot be read is logged and left out."""
        paths = [
            *sorted(self._root.glob("services/worker_*/worker.toml")),
            *sorted(self._home.glob("workers.d/*.toml")),
        ]
        found: dict[str, RegisteredWorker] = {}
        for path in paths:
            manifest = self._read(path)
            # A user's own worker may take the place of one that comes with MOSAIC.
            if manifest is not None:
                found[manifest.id] = RegisteredWorker(manifest, path, self._venvs)
        return [found[name] for name in sorted(found)]

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
        raise WorkerUnknown(name, difflib.get_close_matches(name, names, n=3, cutoff=0.5))

    def _read(self, path: Path) -> WorkerManifest | None:
        try:
            return WorkerManifest.model_validate(tomllib.loads(path.read_text()))
        except (OSError, tomllib.TOMLDecodeError, ValidationError) as error:
            complaint = f"{path}: {error}"
            if complaint not in self._complaints:
                self._complaints.add(complaint)
                get_log().error("manifest.invalid", path=str(path), error=str(error))
            return None
