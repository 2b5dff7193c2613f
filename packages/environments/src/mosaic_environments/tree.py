"""The components of a checkout, or of the tree that an installed package carries.

A component is a folder with a project file. It is called by its folder's name and has an environment of its own.
"""

import os

from mosaic_environments.errors import EnvironmentProblem

_GROUPS = (
    "packages",
    "cli",
    "gui",
    "exporter",
    "analysis",
    "services",
    "deploy",
    "docs",
    "tools",
    "tests",
)
"""Folders that hold components, or are one: what others build on comes first, `tests` last."""
_GROUPS_INSTALLED = ("gui", "exporter", "analysis", "services", "deploy")
"""The same in an installed package's tree: what a user runs, without the packages that these consist of."""
_BUNDLE = "bundle-"
_OWN = "mosaic-rl-"
PROJECT_FILE = "pyproject.toml"


class Component:
    """A folder with a project file."""

    def __init__(self, folder: str, venvs: str) -> None:
        self.folder = folder
        self.name = os.path.basename(folder)
        self.lock_is_current = True
        """Whether its locks belong to its project file; those of a checkout are compared by `lock --check`."""
        self.environment = os.path.join(venvs, self.name)
        """Where its environment lies, made or not."""

    @property
    def python(self) -> str:
        """Path of the environment's interpreter."""
        return os.path.join(self.environment, "bin", "python")

    def has(self, name: str) -> bool:
        """Whether the component has a file of this name."""
        return os.path.isfile(os.path.join(self.folder, name))

    def locks(self) -> list[str]:
        """File names of its locks, sorted."""
        return sorted(name for name in os.listdir(self.folder) if name.endswith(".lock"))

    def bundles(self) -> list[str]:
        """Names of its optional dependency sets: the dependency groups `bundle-NAME`, each with a lock of its own."""
        heads = (line.partition(" = [")[0] for line in self._project() if " = [" in line)
        return [head.removeprefix(_BUNDLE) for head in heads if head.startswith(_BUNDLE)]

    def packages(self) -> list[str]:
        """Folders of our own packages that its environment holds, itself last where it is a package."""
        found = []
        for line in self._project():
            if line.startswith(_OWN) and ' = { path = "' in line:
                path = line.partition(' = { path = "')[2].partition('"')[0]
                found.append(os.path.normpath(os.path.join(self.folder, path)))
            elif line == "[build-system]":
                found.append(self.folder)
        return found

    def _project(self) -> list[str]:
        # Read by lines: importing a TOML parser would cost every verb as much as the rest of this check.
        with open(os.path.join(self.folder, PROJECT_FILE), encoding="utf-8") as file:
            return file.read().splitlines()


class Tree:
    """All components under one folder, and where their environments lie."""

    def __init__(self, root: str, venvs: str, *, is_checkout: bool) -> None:
        self.root = root
        self.venvs = venvs
        self.is_checkout = is_checkout
        """Our own packages are installed as links into a checkout, and as copies from an installed package's tree."""

    @property
    def command(self) -> str:
        """The name by which the user calls this program."""
        return "./mosaic" if self.is_checkout else "mosaic"

    def names(self) -> list[str]:
        """Names of all components, in the order of their groups."""
        groups = _GROUPS if self.is_checkout else _GROUPS_INSTALLED
        return [os.path.basename(folder) for group in groups for folder in self._folders(group)]

    def components(self) -> list[Component]:
        """All components, in the same order."""
        return [self.find(name) for name in self.names()]

    def find(self, name: str) -> Component:
        """The component of this name.

        Raises:
            EnvironmentProblem: there is none.
        """
        if "/" not in name:
            for group in ("packages", "services", "deploy", ""):
                folder = os.path.join(self.root, group, name) if group else f"{self.root}/{name}"
                if os.path.isfile(os.path.join(folder, PROJECT_FILE)):
                    return Component(folder, self.venvs)
        raise EnvironmentProblem(
            f"there is no component called '{name}'. Components: {' '.join(self.names())}. "
            f"The folder of a worker of your own is given as a path: ./{name}"
        )

    def find_package(self, name: str) -> Component:
        """The package of ours whose distribution is `mosaic-rl-NAME`.

        Raises:
            EnvironmentProblem: there is none.
        """
        folder = os.path.join(self.root, "packages", name)
        if not os.path.isfile(os.path.join(folder, PROJECT_FILE)):
            raise EnvironmentProblem(f"MOSAIC has no package {_OWN}{name}")
        return Component(folder, self.venvs)

    def worker_component(self, name: str) -> str | None:
        """Name of the component of the worker with this id or alias; None for a user's own."""
        services = os.path.join(self.root, "services")
        for folder in sorted(os.listdir(services)):
            manifest = os.path.join(services, folder, "worker.toml")
            if not os.path.isfile(manifest):
                continue
            with open(manifest, encoding="utf-8") as file:
                for line in file:
                    key, _, value = line.partition(" = ")
                    if key in ("id", "aliases") and f'"{name}"' in value:
                        return folder
        return None

    def _folders(self, group: str) -> list[str]:
        folder = os.path.join(self.root, group)
        if os.path.isfile(os.path.join(folder, PROJECT_FILE)):
            return [folder]
        inside = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        paths = [os.path.join(folder, name) for name in inside]
        return [path for path in paths if os.path.isfile(os.path.join(path, PROJECT_FILE))]
