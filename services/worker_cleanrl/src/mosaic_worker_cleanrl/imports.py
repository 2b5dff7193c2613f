"""What a script imports, read from its syntax tree, without importing the script."""

import ast
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=128)
def syntax_tree(path: Path) -> ast.Module:
    """Return the syntax tree of a script; nobody may change it.

    Raises:
        OSError: the file cannot be read.
        SyntaxError: it is no Python of this version.
        UnicodeDecodeError: it is no text.
    """
    return ast.parse(path.read_text(encoding="utf-8"))


@lru_cache(maxsize=128)
def imported_packages(path: Path) -> frozenset[str]:
    """Return the packages that a script imports by name while it starts: those within its functions count too."""
    found: set[str] = set()
    for node in ast.walk(syntax_tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
    return frozenset(found)


@lru_cache(maxsize=128)
def packages_at_start(path: Path) -> frozenset[str]:
    """Return the packages that the module imports before it does anything else: without them it cannot start."""
    found: set[str] = set()
    for node in syntax_tree(path).body:
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
    return frozenset(found)
