"""The folder of a worker of the user's own: its environment lies in it, made from a lock that lies in it too."""

import hashlib
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic_environments.errors import EnvironmentProblem
from mosaic_environments.tree import PROJECT_FILE, Component, Tree

if TYPE_CHECKING:
    from mosaic_environments.installer import Installer

LOCK = "requirements.lock"
ENVIRONMENT = ".venv"
_MADE_FROM = "# made from dependencies "
"""How such a lock begins; a digest follows."""
_OWN_NAME = re.compile(r"mosaic-rl-([a-z]+)(\[[^]]*\])?")


def find_component(tree: Tree, name: str) -> Component:
    """The component of this name, or the worker of a user's own in the folder of this path.

    Raises:
        EnvironmentProblem: there is none.
    """
    if "/" in name or name in (".", ".."):
        return WorkerFolder(tree, os.path.abspath(name))
    return tree.find(name)


class WorkerFolder(Component):
    """A folder with a `pyproject.toml` that is no component of the tree.

    Its lock holds the dependencies and the group `dev`, so that the environment can run its tests. Packages of ours
    that it depends on come from the tree.

    Raises:
        EnvironmentProblem: it has no project file, or one that cannot be read.
    """

    def __init__(self, tree: Tree, folder: str) -> None:
        super().__init__(folder, tree.venvs)
        self.environment = os.path.join(folder, ENVIRONMENT)
        self._tree = tree
        self.dependencies = _dependencies(folder)
        """What its project file asks for, ours included."""
        lines = [*self.dependencies, *self._dependencies_of_packages()]
        digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        self.first_line = f"{_MADE_FROM}{digest}"
        """How a lock begins that was made from these dependencies, and from those of our packages among them."""
        self.lock_is_current = _first_line(os.path.join(folder, LOCK)) == self.first_line

    def packages(self) -> list[str]:
        """Folders of our packages that it needs, with those that these need."""
        found = dict[str, None]()
        for wanted in self.dependencies:
            own = _OWN_NAME.match(wanted)
            if own is not None:
                component = self._tree.find_package(own[1])
                found |= dict.fromkeys([*component.packages(), component.folder])
        return list(found)

    def lock(self, installer: "Installer", out: str) -> None:
        """Write its lock into the folder `out`. A lock that is there is kept to as far as the project permits.

        Raises:
            EnvironmentProblem: uv finds no versions that fit.
        """
        environ = {k: v for k, v in installer.environ.items() if k not in _OF_THE_MACHINE}
        lock = os.path.join(out, LOCK)
        with tempfile.TemporaryDirectory() as made:
            asked = os.path.join(made, "asked.in")
            with open(asked, "w", encoding="utf-8") as file:
                file.writelines(f"{self._address(wanted)}\n" for wanted in self.dependencies)
            draft = os.path.join(made, LOCK)
            if os.path.isfile(lock):
                with open(lock, encoding="utf-8") as old, open(draft, "w", encoding="utf-8") as new:
                    new.write(old.read())
            command = [installer.uv, "pip", "compile", asked, "-o", draft, *_OPTIONS]
            command += [f"--no-emit-package=mosaic-rl-{name}" for name in _OURS]
            command += ["--excludes=torch.exclude"] if self.has("torch.exclude") else []
            done = subprocess.run(
                [*command, f"--python={installer.python}"],
                cwd=self.folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                check=False,
            )
            if done.returncode != 0:
                raise EnvironmentProblem(
                    f"{done.stdout}uv could not lock {self.folder}; the reason stands above"
                )
            with open(draft, encoding="utf-8") as file:
                text = file.read()
        with open(f"{lock}.new", "w", encoding="utf-8") as file:
            file.write(f"{self.first_line}\n{text}")
        os.replace(f"{lock}.new", lock)
        self.lock_is_current = True

    def _dependencies_of_packages(self) -> list[str]:
        """What our packages that it needs ask for, because an update of MOSAIC can change that."""
        found = []
        for folder in self.packages():
            project = _table(_read_project(folder), "project", folder)
            found += _strings(project.get("dependencies", []), "[project] dependencies", folder)
            extras = _table(project, "optional-dependencies", folder)
            for extra in sorted(extras):
                found.append(f"[{extra}]")
                found += _strings(extras[extra], extra, folder)
        return found

    def _address(self, wanted: str) -> str:
        own = _OWN_NAME.match(wanted)
        if own is None:
            return wanted
        return f"{own[0]} @ {Path(self._tree.find_package(own[1]).folder).as_uri()}"


_OF_THE_MACHINE = ("UV_FIND_LINKS", "UV_TORCH_BACKEND")
"""A wheel folder of this machine must not decide what is locked."""
_OURS = ("base", "contracts", "workerkit", "gymkit", "client")
_OPTIONS = (
    "--quiet",
    "--universal",
    "--python-version=3.11",
    "--generate-hashes",
    "--no-header",
    "--no-annotate",
)


def _dependencies(folder: str) -> list[str]:
    """What a worker's project file asks for: its dependencies and those of its tests."""
    read = _read_project(folder)
    found = list[str]()
    for table, name in (("project", "dependencies"), ("dependency-groups", "dev")):
        values = _table(read, table, folder)
        if name not in values:
            raise EnvironmentProblem(
                f"{_project_file(folder)} has no [{table}] {name}: it needs [project] dependencies and "
                "[dependency-groups] dev"
            )
        found += _strings(values[name], f"[{table}] {name}", folder)
    return found


def _read_project(folder: str) -> dict[str, Any]:
    # Imported for a worker's folder only: every verb looks whether its environments are there.
    import tomllib

    try:
        with open(_project_file(folder), "rb") as file:
            return tomllib.load(file)
    except FileNotFoundError as error:
        raise EnvironmentProblem(
            f"{folder} has no {PROJECT_FILE}, which says what its environment needs"
        ) from error
    except (OSError, ValueError) as error:
        raise EnvironmentProblem(f"{_project_file(folder)} cannot be read: {error}") from error


def _table(values: dict[str, Any], name: str, folder: str) -> dict[str, Any]:
    """A table of a project file; empty where it is missing."""
    found = values.get(name, {})
    if not isinstance(found, dict):
        raise EnvironmentProblem(f"{_project_file(folder)}: {name} must be a table")
    return found


def _strings(values: object, name: str, folder: str) -> list[str]:
    """A list of requirements. A group that includes another one is not supported, which is said."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise EnvironmentProblem(
            f'{_project_file(folder)}: {name} must be a list of strings, such as ["numpy>=2"]. '
            "List the members of an included group instead of `include-group`."
        )
    return values


def _project_file(folder: str) -> str:
    return os.path.join(folder, PROJECT_FILE)


def _first_line(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.readline().rstrip("\n")
    except FileNotFoundError:
        return None
