"""Whether an environment is up to date.

A stamp, written last, holds the digest of everything that an environment was made from. An environment without its
right stamp is made again, so that a half-made one is never used.
"""

import hashlib
import os
from collections.abc import Iterable

from mosaic_environments.tree import PROJECT_FILE, Component, Tree

UV_PIN = "tools/bootstrap.lock"
"""Relative to the tree: version and hashes of uv."""
BUILD_FILE = "BUILD"
"""Relative to an installed package's tree: a digest of everything in it."""
_FOR_IMAGES = ("requirements.cuda.lock", "requirements.cpu.lock")


def uv_version(tree: Tree) -> str:
    """The version of uv that makes environments."""
    with open(os.path.join(tree.root, UV_PIN), encoding="ascii") as file:
        return file.readline().split()[0].removeprefix("uv==")


def digest(tree: Tree, component: Component, kind: str) -> str:
    """Digest of everything that an environment is made from.

    Args:
        kind: `run`, `dev` or `bundle-NAME`.
    """
    files = [os.path.join(folder, PROJECT_FILE) for folder in component.packages()]
    files.append(os.path.join(component.folder, PROJECT_FILE))
    files += [os.path.join(component.folder, name) for name in _sources(component, kind)]
    if not tree.is_checkout:
        # our own packages are installed as copies, so each change of them makes the environment again
        files.append(os.path.join(tree.root, BUILD_FILE))
    # the tree's place, because in a checkout our own packages are installed as links into it
    made = hashlib.sha256(f"{uv_version(tree)}\n{tree.root}\n".encode(errors="surrogateescape"))
    for path in files:
        with open(path, "rb") as file:
            made.update(file.read())
    return made.hexdigest()


def has_stamp(component: Component, kind: str, expected: str) -> bool:
    """Whether the environment exists and was made from what `expected` is the digest of."""
    if not os.access(component.python, os.X_OK):
        return False
    try:
        with open(stamp_path(component, kind), encoding="ascii") as file:
            return file.readline().rstrip("\n") == expected
    except FileNotFoundError:
        return False


def stamp_path(component: Component, kind: str) -> str:
    """Path of the stamp of this kind."""
    return os.path.join(component.environment, f"mosaic-{kind}.stamp")


def remembered_bundles(component: Component, more: Iterable[str] = ()) -> list[str]:
    """Bundles that the environment has, or is to have, and `more`.

    What was asked for once stays, also when the environment is made again.
    """
    bundles = list(more)
    path = bundles_path(component)
    if os.path.isfile(path):
        with open(path, encoding="ascii") as file:
            # a bundle that the component no longer has is no loss
            bundles += [
                name for name in file.read().split() if component.has(f"bundle-{name}.lock")
            ]
    return bundles


def bundles_path(component: Component) -> str:
    """Path of the file that remembers the environment's bundles."""
    return os.path.join(os.path.dirname(component.environment), f".{component.name}.bundles")


def is_current(tree: Tree, component: Component, *, dev: bool, bundles: Iterable[str] = ()) -> bool:
    """Whether the environment needs no work."""
    kinds = ["run"]
    if dev and component.has("requirements.dev.lock"):
        kinds.append("dev")
    kinds += [f"bundle-{name}" for name in remembered_bundles(component, bundles)]
    return all(has_stamp(component, kind, digest(tree, component, kind)) for kind in kinds)


def _sources(component: Component, kind: str) -> list[str]:
    """File names of the locks, and of the second step for torch, that an environment of this kind is made from."""
    names = []
    for name in component.locks():
        if name == "requirements.dev.lock":
            if kind == "dev":
                names.append(name)
        elif name.startswith("bundle-"):
            if name == f"{kind}.lock":
                names.append(name)
        elif name not in _FOR_IMAGES:
            names.append(name)
    if component.has("torch.txt"):
        names.append("torch.txt")
    return names
