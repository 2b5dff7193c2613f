"""Why a script cannot run in this worker on any machine: packages that it imports and that cannot be had here."""

import sys
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

OBSTACLES = {
    "envpool": "EnvPool steps its games. The EnvPool 0.6 that it is written for has no package for Python 3.11, and "
    "EnvPool 1 finds no games",
    "procgen": "Its games come from procgen 0.10, which has no package for Python 3.11",
    "supersuit": "Its games come from PettingZoo 1.18 with multi-agent-ale-py 0.1, which has no package for Python "
    "3.11",
    "isaacgym": "NVIDIA's Isaac Gym is in no package index, and takes Python 3.6 to 3.8 and an NVIDIA GPU",
    "memory_gym": "Its environments come from memory-gym and minigrid, which this worker does not have",
    "huggingface_hub": "It downloads its teacher from the Hugging Face Hub while it starts, and this worker does not "
    "have huggingface_hub",
}
"""By the package that a script imports at its start."""
BY_BUNDLE = frozenset({"jax", "flax", "optax", "chex", "wandb", "cv2"})
"""Packages that come with a bundle."""


@lru_cache(maxsize=128)
def why_unavailable(path: Path, packages: frozenset[str], instead: str | None = None) -> str:
    """Say why a script cannot run here, and what to do; empty: it can run.

    Args:
        path: the script.
        packages: what it imports at its start.
        instead: the script that is nearest to it and can run here.
    """
    why = next((words for package, words in OBSTACLES.items() if package in packages), None)
    if why is None:
        missing = sorted(name for name in packages - BY_BUNDLE if not _is_found(name, path))
        if not missing:
            return ""
        why = f"It imports {', '.join(missing)}, which this worker does not have"
    take = f"Take {instead}, or run" if instead else "Run"
    return (
        f"{path.name} cannot run in this worker. {why}. {take} the file in an environment of your own that has what it "
        f"needs: `./mosaic run {path.name} --python PATH` (docs/scripts.md)."
    )


def _is_found(package: str, path: Path) -> bool:
    """Whether a package can be imported; `gym` is this worker's own, and what lies next to the script is found."""
    if package in sys.stdlib_module_names or package in ("gym", "cleanrl", "cleanrl_utils"):
        return True  # not looked for: setuptools answers for `distutils`, and is imported for it
    if (path.parent / f"{package}.py").is_file():
        return True
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):
        return False
