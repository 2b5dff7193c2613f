"""Which test files a change can break: those that import a changed module, directly or through others.

Nearest first, for a test that imports a changed module itself most likely says what is wrong with it.
"""

import ast
import subprocess
from collections import deque
from collections.abc import Iterable
from pathlib import Path

from components import ROOT, CheckedComponent


def changed_files(base: str) -> list[Path]:
    """Files that differ from the commit at which this work left `base`, with those that git does not know yet."""
    forked = _git("merge-base", "HEAD", base)
    names = [
        *_git("diff", "--name-only", forked[0]),
        *_git("ls-files", "--others", "--exclude-standard"),
    ]
    return sorted({ROOT / name for name in names})


def affected_tests(
    components: Iterable[CheckedComponent], changed: Iterable[Path]
) -> dict[Path, int]:
    """Test files that can break, with how many imports lie between each and the nearest changed module.

    A changed conftest.py, or any other file next to tests, counts as imported by the test files below its folder.
    """
    modules, tests = _modules(components)
    importers: dict[Path, set[Path]] = {}
    by_name = {name: path for path, name in modules.items()}
    for path in modules:
        for name in _imported(path):
            target = _resolve(name, by_name)
            if target is not None and target != path:
                importers.setdefault(target, set()).add(path)
    distance = dict.fromkeys(changed, 0)
    queue = deque(distance)
    while queue:
        path = queue.popleft()
        for importer in importers.get(path, set()) | _below(path, tests):
            if importer not in distance:
                distance[importer] = distance[path] + 1
                queue.append(importer)
    return {path: steps for path, steps in distance.items() if path in tests}


def _modules(components: Iterable[CheckedComponent]) -> tuple[dict[Path, str], set[Path]]:
    """Every Python file with the name by which it is imported, and which of them are tests."""
    modules: dict[Path, str] = {}
    tests: set[Path] = set()
    for component in components:
        for path in component.folder.rglob("*.py"):
            base = component.folder / "src" if "src" in path.parts else component.folder
            name = ".".join(path.relative_to(base).with_suffix("").parts)
            modules[path] = name.removesuffix(".__init__")
        tests.update(component.tests)
    return modules, tests


def _imported(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def _resolve(name: str, by_name: dict[str, Path]) -> Path | None:
    """The file that an import reads: of `package.module.name` the longest part that is a module."""
    while name:
        if name in by_name:
            return by_name[name]
        name = name.rpartition(".")[0]
    return None


def _below(path: Path, tests: set[Path]) -> set[Path]:
    if path.name == "conftest.py" or (path.suffix != ".py" and "tests" in path.parts):
        return {test for test in tests if path.parent in test.parents}
    return set()


def _git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()
