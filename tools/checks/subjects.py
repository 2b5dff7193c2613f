"""Broker subjects are built in mosaic_contracts.subjects and nowhere else, so that a rename is one change."""

import ast
from collections.abc import Iterator
from pathlib import Path

from checks.sources import all_nodes, parsed

PREFIX = "mosaic.v1"
HOME = "packages/contracts/src/mosaic_contracts/subjects.py"


def find_subjects(root: Path, names: list[str]) -> list[str]:
    """Findings for every string in shipped code that spells a subject. Tests may spell what they expect."""
    findings = []
    for name in names:
        if not name.endswith(".py") or name == HOME or not is_shipped(name):
            continue
        tree = parsed((root / name).read_text(encoding="utf-8"), name)
        findings += [
            f"{name}:{line}: spells a subject; call mosaic_contracts.subjects instead"
            for line in spelled(tree)
        ]
    return findings


def is_shipped(name: str) -> bool:
    return "/src/" in name or name.startswith("benchmarks/")


def spelled(tree: ast.Module) -> Iterator[int]:
    """Lines of strings that start with the prefix; texts that merely speak of a subject may name it."""
    for node in all_nodes(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            value = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
            if value == PREFIX or value.startswith(f"{PREFIX}."):
                yield node.lineno
