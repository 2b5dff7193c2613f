"""A small tree of components, made for a test."""

from pathlib import Path

import pytest

from mosaic_environments.tree import Tree

PACKAGE = """
[project]
name = "mosaic-rl-{name}"

[tool.uv.sources]
{sources}

[build-system]
"""
WORKER = (
    "[dependency-groups]\ndev = []\nbundle-atari = [\n]\nbundle-mujoco = [\n]\n[build-system]\n"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tree with a package, a command line, a worker with two bundles, and a pin of uv."""
    root = tmp_path / "tree"
    contracts = 'mosaic-rl-contracts = { path = "../packages/contracts", editable = true }'
    add(root / "packages" / "contracts", PACKAGE.format(name="contracts", sources=""))
    add(root / "cli", PACKAGE.format(name="cli", sources=contracts))
    worker = root / "services" / "worker_cleanrl"
    add(worker, WORKER)
    (worker / "worker.toml").write_text('id = "cleanrl"\naliases = ["clean"]\n')
    for name in ("requirements.dev.lock", "bundle-atari.lock", "bundle-mujoco.lock"):
        (worker / name).write_text(f"{name}\n")
    add(root / "tests", "[project]\n")
    (root / "tools").mkdir()
    (root / "tools" / "bootstrap.lock").write_text("uv==1.2.3 \\\n    --hash=sha256:00\n")
    return root


@pytest.fixture
def tree(root: Path, tmp_path: Path) -> Tree:
    """The tree, with environments in a folder that does not exist yet."""
    return Tree(str(root), str(tmp_path / "venvs"), is_checkout=True)


def add(folder: Path, project: str) -> None:
    """Make a component."""
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(project)
    (folder / "requirements.lock").write_text("pydantic==2\n")
