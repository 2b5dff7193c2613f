"""Arguments that a script declares as a dataclass for tyro, as scripts of current CleanRL do.

Only the class `Args` is executed, and of the training those lines that compute one argument from others. Neither tyro
nor the script is imported.
"""

import argparse
import ast
import dataclasses
import os
import types
import typing
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, List, Literal, Optional, Tuple, Union, get_args, get_origin, get_type_hints  # noqa: UP035 - names that scripts use

from mosaic_worker_cleanrl.errors import SchemaUnreadable

_CLASS = "Args"
_NAMES = {
    "dataclass": dataclass,
    "dataclasses": dataclasses,
    "field": field,
    "os": os,
    "typing": typing,
    "List": List,  # noqa: UP006 - as above
    "Literal": Literal,
    "Optional": Optional,
    "Tuple": Tuple,  # noqa: UP006 - as above
    "Union": Union,
}
"""The names that such classes use. Any other one is a NameError, reported as SchemaUnreadable."""


def find_class(tree: ast.Module) -> ast.ClassDef | None:
    """Return the class of a script's arguments; None: it has none."""
    return next((n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == _CLASS), None)


def declare(
    node: ast.ClassDef, path: Path, make: Callable[[], argparse.ArgumentParser]
) -> argparse.ArgumentParser:
    """Return a parser with the arguments of a class, switches as `--flag` and `--no-flag`.

    Raises:
        SchemaUnreadable: a field has a form that is not known.
    """
    space: dict[str, Any] = {**_NAMES, "__file__": str(path), "__name__": "arguments"}
    try:
        exec(compile(ast.Module([node], []), str(path), "exec"), space)  # noqa: S102 - a piece of a script that `train` runs anyway
        kinds = get_type_hints(space[_CLASS], {**space, **vars(__import__("builtins"))})
        parser = make()
        _add_fields(parser, space[_CLASS], kinds, _helps(node), path)
    except (NameError, AttributeError, TypeError, ValueError, LookupError) as error:
        raise SchemaUnreadable(path, f"{type(error).__name__}: {error}") from error
    return parser


def _add_fields(
    parser: argparse.ArgumentParser,
    declared: Any,
    kinds: dict[str, Any],
    helps: dict[str, str],
    path: Path,
) -> None:
    for one in fields(declared):
        default = one.default
        if default is MISSING:
            default = one.default_factory() if one.default_factory is not MISSING else None
        options = _options(kinds[one.name], default)
        if options is None:
            raise SchemaUnreadable(path, f"the type of field {one.name} is not known")
        flag = f"--{one.name.replace('_', '-')}"
        parser.add_argument(
            flag, dest=one.name, default=default, help=helps.get(one.name), **options
        )


def _options(kind: Any, default: Any) -> dict[str, Any] | None:
    """How argparse is asked for a value of a type; None: the type is not known."""
    given = [part for part in get_args(kind) if part is not type(None)]
    if get_origin(kind) in (Union, types.UnionType) and len(given) == 1:
        return _options(given[0], default)
    if get_origin(kind) is Literal:
        of = {type(part) for part in given}
        one = of.pop() if len(of) == 1 else None
        return {"choices": given, "type": one} if one in (int, float, str) else None
    if get_origin(kind) in (list, tuple):
        return {"nargs": "+", "type": given[0] if given and given[0] in (int, float) else str}
    if kind is bool:
        return {"action": argparse.BooleanOptionalAction}
    if kind is int and isinstance(default, float) and not default.is_integer():
        kind = float
    return {"type": kind} if kind in (int, float, str) else None


def _helps(node: ast.ClassDef) -> dict[str, str]:
    """The text after each field."""
    found: dict[str, str] = {}
    name = ""
    for part in node.body:
        match part:
            case ast.AnnAssign(target=ast.Name(id=declared)):
                name = declared
            case ast.Expr(value=ast.Constant(value=str(text))) if name:
                found[name], name = " ".join(text.split()), ""
    return found


def first_algorithm_argument(node: ast.ClassDef, border: int | None) -> frozenset[str]:
    """Return the fields above a line: those of the run."""
    return frozenset(
        part.target.id
        for part in node.body
        if isinstance(part, ast.AnnAssign)
        and isinstance(part.target, ast.Name)
        and border is not None
        and part.lineno < border
    )


def training_of(tree: ast.Module) -> list[ast.stmt]:
    """Return the statements behind `if __name__ == "__main__"`."""
    for node in tree.body:
        match node:
            case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
                return node.body
    return []


def computed_arguments(training: list[ast.stmt]) -> dict[str, ast.stmt]:
    """Return the lines that compute an argument from others, `args.batch_size = int(...)`, by the argument."""
    found: dict[str, ast.stmt] = {}
    for node in training:
        match node:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="args"), attr=name)]) if (
                _names(node.value) <= {"args", "int", "os"}
            ):
                found[name] = node
    return found


def _names(node: ast.expr) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def compute(lines: dict[str, ast.stmt], arguments: argparse.Namespace, path: Path) -> None:
    """Execute such lines.

    Raises:
        ArithmeticError: they cannot be computed with these arguments.
    """
    code = compile(ast.Module(list(lines.values()), []), str(path), "exec")
    exec(code, {"args": arguments, "int": int, "os": os})  # noqa: S102 - as above
