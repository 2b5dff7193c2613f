"""Names and imports of shipped code: a class name occurs once in the tree, and no package has an import cycle."""

import ast
from collections import defaultdict
from pathlib import Path

from checks.sources import all_nodes, parsed


def find_class_names(root: Path, names: list[str]) -> list[str]:
    """Findings for every public class whose name another one has: a reader who searches must find one."""
    places = defaultdict(list)
    for name in _shipped(names):
        tree = parsed((root / name).read_text(encoding="utf-8"), name)
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{name}:{node.lineno}")
    return [
        f"{place}: the class name {name} is taken by {found[0]}"
        for name, found in sorted(places.items())
        for place in found[1:]
    ]


def find_cycles(root: Path, names: list[str]) -> list[str]:
    """Findings for modules, and for folders of a package, that import each other in a circle.

    An import for type checking alone counts for folders as any other: it says that one idea needs the other.
    """
    packages: dict[str, dict[str, str]] = defaultdict(dict)
    for name in _shipped(names):
        path = name.partition("/src/")[2]
        module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        packages[module.partition(".")[0]][module] = name
    findings = []
    for package, files in packages.items():
        modules, folders = _import_graphs(root, files)
        for kind, graph in (("modules", modules), ("folders", folders)):
            for cycle in _cycles(graph):
                findings.append(
                    f"{files[package]}:1: {kind} import each other in a circle: {', '.join(cycle)}"
                )
    return findings


def _shipped(names: list[str]) -> list[str]:
    return [name for name in names if "/src/" in name and name.endswith(".py")]


def _import_graphs(
    root: Path, files: dict[str, str]
) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    modules: dict[str, set[str]] = {module: set() for module in files}
    folders: dict[str, set[str]] = defaultdict(set)
    for module, name in files.items():
        tree = parsed((root / name).read_text(encoding="utf-8"), name)
        for target, is_for_types in _imports(tree):
            found = _known(target, files)
            if found is None or found == module or "." not in found:
                continue
            if not is_for_types:
                modules[module].add(found)
            here, there = _folder(module, files), _folder(found, files)
            if here and there and here != there:
                folders[here].add(there)
    return modules, folders


def _imports(tree: ast.Module) -> list[tuple[str, bool]]:
    """Each imported name, and whether only type checkers import it."""
    for_types = {
        id(inner)
        for node in all_nodes(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    found = []
    for node in all_nodes(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, id(node) in for_types) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found += [(f"{node.module}.{a.name}", id(node) in for_types) for a in node.names]
    return found


def _known(target: str, files: dict[str, str]) -> str | None:
    while target and target not in files:
        target = target.rpartition(".")[0]
    return target or None


def _folder(module: str, files: dict[str, str]) -> str:
    """The folder of the package in which a module lies; empty for a module at its top."""
    parts = module.split(".")
    is_package = files[module].endswith("/__init__.py")
    return parts[1] if len(parts) > 2 or (is_package and len(parts) == 2) else ""


def _cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of nodes that reach each other, by two searches (Sharir 1981)."""
    nodes = sorted(graph.keys() | {target for targets in graph.values() for target in targets})
    order: list[str] = []
    seen: set[str] = set()
    for node in nodes:
        _visit(node, graph, seen, order)
    backwards: dict[str, set[str]] = defaultdict(set)
    for node, targets in graph.items():
        for target in targets:
            backwards[target].add(node)
    found, seen = [], set()
    for node in reversed(order):
        group: list[str] = []
        _visit(node, backwards, seen, group)
        if len(group) > 1:
            found.append(sorted(group))
    return found


def _visit(start: str, graph: dict[str, set[str]], seen: set[str], left: list[str]) -> None:
    """Visit what `start` reaches; append each node to `left` when it is left."""
    waiting = [(start, False)]
    while waiting:
        node, is_left = waiting.pop()
        if is_left:
            left.append(node)
        elif node not in seen:
            seen.add(node)
            waiting.append((node, True))
            waiting += [(target, False) for target in sorted(graph.get(node, ()))]
