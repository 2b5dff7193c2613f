"""The components of this checkout as the checks see them."""

import os
from pathlib import Path

from mosaic_environments.errors import EnvironmentProblem
from mosaic_environments.tree import Component as _Component
from mosaic_environments.tree import Tree

ROOT = Path(os.environ.get("MOSAIC_ROOT") or Path(__file__).parent.parent).resolve()
TREE = Tree(
    str(ROOT),
    os.environ.get("MOSAIC_VENVS") or str(ROOT / "var" / "venvs"),
    is_checkout=True,
)

SECOND_PART = {
    "tests-containers": ("test_compose", "test_container_kills", "test_interruptions"),
}
"""Test files that are a part of their own, `NAME-2`: what waits as long as these do is no single row."""


class CheckedComponent:
    """A component with what there is to check in it."""

    def __init__(self, component: _Component) -> None:
        self.name = component.name
        self.folder = Path(component.folder)
        self.python = Path(component.python)
        """Its interpreter; `./mosaic sync` made it."""
        self.packages = component.packages()
        """Folders of our own packages that its environment holds."""
        self._locks = [name for name in component.locks() if not name.startswith("bundle-")]

    @property
    def has_numpy(self) -> bool:
        """Whether its environment holds NumPy."""
        return any(
            line.startswith("numpy==")
            for name in self._locks
            for line in (self.folder / name).read_text().splitlines()
        )

    @property
    def sources(self) -> list[str]:
        """Folders with Python to type-check, relative to the component."""
        if self.name in ("tools", "tests"):
            return ["."] if any(self.folder.rglob("*.py")) else []
        return [part for part in ("src", "tests") if any((self.folder / part).rglob("*.py"))]

    @property
    def parts(self) -> dict[str, list[Path]]:
        """Its test files, in parts that may run at once: the folders of `tests`, one of them in two parts.

        Every other component is one part.
        """
        if self.name != "tests":
            return {self.name: self.tests}
        parts: dict[str, list[Path]] = {}
        for path in self.tests:
            folder = path.relative_to(self.folder).parent.parts
            part = "-".join(("tests", *folder[:1]))
            if path.stem in SECOND_PART.get(part, ()):
                part += "-2"
            parts.setdefault(part, []).append(path)
        return parts

    @property
    def tests(self) -> list[Path]:
        """Its test files; for the component `tests`, which crosses services, all of them."""
        folder = self.folder if self.name == "tests" else self.folder / "tests"
        return sorted(folder.rglob("test_*.py"))


def all_components() -> list[CheckedComponent]:
    """Every component: what others build on comes first, `tests` last."""
    return [CheckedComponent(component) for component in TREE.components()]


def named_components(names: list[str]) -> list[CheckedComponent]:
    """The components of these names. Raises SystemExit when there is none of a name."""
    try:
        return [CheckedComponent(TREE.find(name)) for name in names]
    except EnvironmentProblem as problem:
        raise SystemExit(str(problem)) from problem
