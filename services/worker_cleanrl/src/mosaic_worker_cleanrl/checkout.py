"""A checkout of CleanRL as the source of the scripts, in place of the installed package.

Scripts that this worker knows by name keep what it knows of them. The syntax tree says what all others take.
"""

import ast
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from mosaic_worker_cleanrl.algorithm import offer
from mosaic_worker_cleanrl.errors import CheckoutMissing
from mosaic_worker_cleanrl.imports import imported_packages, syntax_tree
from mosaic_worker_cleanrl.script import VECTORS, Script
from mosaic_worker_cleanrl.table import LATER, TABLE

_PACKAGE = "cleanrl"
_NETWORKS = ("agent", "q_network", "actor")
"""Variables that hold the network which acts."""


@dataclass(frozen=True)
class ScriptSource:
    """Where the scripts of this process come from, and the worker's name for that."""

    worker: str = "cleanrl"
    checkout: Path | None = None
    """Folder of a checkout; None: the installed package."""

    @property
    def words(self) -> str:
        """Where they come from, in words."""
        return "the installed `cleanrl`" if self.checkout is None else f"`{self.checkout}`"


_active = [ScriptSource()]


def script_source() -> ScriptSource:
    """Return where the scripts of this process come from."""
    return _active[0]


def use_checkout(worker: str, folder: Path) -> None:
    """Offer the scripts of a checkout from now on. It is called before anything is asked.

    Raises:
        CheckoutMissing: there are no scripts.
    """
    scripts = scripts_of(folder)
    if not scripts:
        raise CheckoutMissing(folder, worker)
    sys.path.insert(0, str(folder))
    _active[0] = ScriptSource(worker, folder)
    offer(scripts)


def scripts_of(folder: Path) -> dict[str, Script]:
    """Return the scripts below `cleanrl/` of a checkout by name; a file that trains nothing is none."""
    files = sorted(
        [*(folder / _PACKAGE).glob("*.py"), *(folder / _PACKAGE).glob("*/*.py")],
        key=lambda path: path.stem,
    )
    found: dict[str, Script] = {}
    for path in files:
        is_own_folder = path.parent.name != _PACKAGE
        if is_own_folder and path.parent.name != path.stem:
            continue  # a helper of the script in that folder
        try:
            tree = syntax_tree(path)
        except (OSError, SyntaxError, UnicodeDecodeError):
            continue
        if not _trains(tree):
            continue
        module = ".".join((_PACKAGE, *path.relative_to(folder / _PACKAGE).with_suffix("").parts))
        known = TABLE.get(path.stem) or LATER.get(path.stem)
        script = _read(path, module) if known is None else replace(known, module=module)
        if "stable_baselines3" not in imported_packages(path):
            script = replace(script, note="")  # it has a replay buffer of its own
        found[path.stem] = replace(script, path=path)
    # Those that people begin with come first, as in the installed package.
    order = {name: place for place, name in enumerate((*TABLE, *LATER))}
    return dict(sorted(found.items(), key=lambda item: (order.get(item[0], len(order)), item[0])))


def _trains(tree: ast.Module) -> bool:
    """Whether a file declares arguments and uses a SummaryWriter, as all scripts of CleanRL do."""
    declared = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return bool(declared & {"Args", "parse_args"}) and "SummaryWriter" in names


def _read(path: Path, module: str) -> Script:
    """What the syntax tree says of a script that is not known by name."""
    tree = syntax_tree(path)
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    is_atari = bool(
        {"AtariPreprocessing", "NoopResetEnv", "EpisodicLifeEnv"} & (names | attributes)
    )
    kinds = tuple(kind for kind in ("Discrete", "Box") if kind in _asserted_spaces(tree))
    policy, policy_class = _network_of(tree)
    computes_batch = {"num_envs", "num_steps", "batch_size"} <= attributes
    return Script(
        id=path.stem,
        module=module,
        title=path.stem.replace("_", " "),
        summary=_docstring(tree) or f"{path.name} of the checkout.",
        action_spaces=tuple(kind.lower() for kind in kinds) or ("discrete", "box"),
        observation_spaces=("box",) if is_atari else VECTORS,
        takes="atari" if is_atari else "vector",
        policy=policy or "agent",
        policy_class=policy_class or "Agent",
        acts=False,
        batch=("num_envs", "num_steps") if computes_batch else (),
    )


def _docstring(tree: ast.Module) -> str:
    return (ast.get_docstring(tree) or "").partition("\n")[0]


def _asserted_spaces(tree: ast.Module) -> set[str]:
    """Kinds of action spaces in `assert isinstance(envs.single_action_space, gym.spaces.Discrete)`."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            found |= {part.attr for part in ast.walk(node.test) if isinstance(part, ast.Attribute)}
    return found


def _network_of(tree: ast.Module) -> tuple[str, str]:
    """Variable and class of the network that acts, in `agent = Agent(envs).to(device)`."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) if name in _NETWORKS:
                called = [
                    part.func.id
                    for part in ast.walk(node.value)
                    if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)
                ]
                if called:
                    return name, called[-1]
    return "", ""
