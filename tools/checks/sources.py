"""Python sources as syntax trees, made once for all checks of a run."""

import ast
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache


@cache
def parsed(source: str, name: str) -> ast.Module:
    """The syntax tree of a file's text. No check changes it."""
    return ast.parse(source, name)


@cache
def all_nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Every node of a file, as `ast.walk` yields them."""
    return tuple(ast.walk(tree))


@contextmanager
def kept_trees() -> Iterator[None]:
    """Keep all trees until the end of the block, without garbage collection, which would look at a million nodes."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        parsed.cache_clear()
        all_nodes.cache_clear()
        if was_enabled:
            gc.enable()
