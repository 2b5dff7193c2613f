"""`./mosaic build`: the wheels of a release.

The wheel of the command line carries the tree of everything that a stack consists of (services, workers, window, locks,
files of images), laid out as in a checkout. An installed `mosaic` makes their environments from it
(docs/adr/0014-installed-from-wheels.md).
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from mosaic_environments.errors import EnvironmentProblem
from mosaic_environments.installer import Installer
from mosaic_environments.stamp import BUILD_FILE
from mosaic_environments.tree import Tree

SDK = ("base", "contracts", "client", "workerkit", "gymkit", "environments")
"""Packages that users import, or that the command line imports: each is a wheel of its own, as is the window."""
TREE_FOLDER = "_tree"
"""In the package of the command line."""
_CARRIED = (
    "LICENSE",
    ".dockerignore",
    "compose*.yaml",
    "tools/bootstrap.lock",
    "deploy/**",
    "gui/**",
    "exporter/**",
    "analysis/**",
    "packages/base/**",
    "packages/client/**",
    "packages/contracts/**",
    "packages/servicekit/**",
    "packages/store/**",
    "packages/workerkit/**",
    "packages/gymkit/**",
    "packages/hook/**",
    "examples/**",
    "services/**",
)
_NOT_CARRIED = re.compile(
    r"^(?!examples/).*(/tests/|/requirements\.dev\.lock$|/README\.md$)"
    r"|^services/xmpp/(pyproject\.toml|requirements\.lock)$"  # an environment for its tests alone
)


def build_verb(tree: Tree, words: list[str]) -> None:
    """Run `build [FOLDER]`.

    Raises:
        EnvironmentProblem: a wheel cannot be built.
    """
    out = Path(words[0] if words else f"{tree.root}/dist").absolute()
    installer = Installer(tree, dict(os.environ))
    with tempfile.TemporaryDirectory() as made:
        for name in SDK:
            _build(installer, tree.find(name).folder, made)
        _build(installer, tree.find("gui").folder, made)
        with tempfile.TemporaryDirectory() as copy:
            _build(installer, _with_tree(tree, Path(copy)), made)
        out.mkdir(parents=True, exist_ok=True)
        for wheel in sorted(Path(made).glob("*.whl")):
            shutil.copy(wheel, out)
            print(out / wheel.name, flush=True)


def _build(installer: Installer, folder: str, out: str) -> None:
    try:
        installer.run("build", "--quiet", "--wheel", "--out-dir", out, folder)
    except subprocess.CalledProcessError as error:
        raise EnvironmentProblem(
            f"the wheel of {folder} cannot be built; the reason stands above"
        ) from error


def _with_tree(tree: Tree, copy: Path) -> str:
    """Copy the command line's project and put the tree into its package."""
    project = copy / "cli"
    names = _tracked(tree)
    for name in names:
        if name.startswith("cli/") and not name.startswith("cli/tests/"):
            _copy(tree, name, copy / name)
    carried = project / "src" / "mosaic_cli" / TREE_FOLDER
    digest = hashlib.sha256()
    for name in names:
        if any(_matches(name, pattern) for pattern in _CARRIED) and not _NOT_CARRIED.search(name):
            _copy(tree, name, carried / name)
            digest.update(f"{name}\n".encode() + (carried / name).read_bytes())
    (carried / BUILD_FILE).write_text(f"{digest.hexdigest()}\n", encoding="ascii")
    return str(project)


def _matches(name: str, pattern: str) -> bool:
    return (
        name.startswith(pattern.removesuffix("**"))
        if pattern.endswith("/**")
        else Path(name).match(pattern) and name.count("/") == pattern.count("/")
    )


def _copy(tree: Tree, name: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(tree.root, name), target)


def _tracked(tree: Tree) -> list[str]:
    """Files that git knows or would add: nothing that a checkout collects gets into a wheel."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=tree.root, capture_output=True, text=True, check=True)
    return sorted(name for name in done.stdout.splitlines() if Path(tree.root, name).is_file())
