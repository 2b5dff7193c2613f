"""Take `parse_args`, or the class `Args`, out of a script by its syntax tree and run only that piece.

The script itself is not imported: it would bring torch (seconds), and a script whose packages are missing
could not be described at all.
"""

import argparse
import ast
import os
import sys
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

from mosaic_worker_cleanrl.errors import ArgumentsRefused, SchemaUnreadable
from mosaic_worker_cleanrl.imports import syntax_tree
from mosaic_worker_cleanrl.schema.dataclass_arguments import (
    compute,
    computed_arguments,
    declare,
    find_class,
    first_algorithm_argument,
    training_of,
)


@dataclass(frozen=True)
class ArgumentSource:
    """A script's argument parser, apart from the script."""

    path: Path
    actions: tuple[argparse.Action, ...]
    """In the order of the script, without --help."""
    constants: dict[str, Any]
    """Arguments that the script asserts to have one value, e.g. dqn's num_envs == 1."""
    run_arguments: frozenset[str]
    """Declared before the comment "Algorithm specific arguments"."""
    _parse_args: Callable[[type[argparse.ArgumentParser]], argparse.Namespace]

    def parse(self, argv: list[str]) -> dict[str, Any]:
        """Return what the script itself would make of `argv`, its derived values included.

        Raises:
            ArgumentsRefused: the script would refuse them.
        """
        before = sys.argv
        sys.argv = [str(self.path), *argv]
        try:
            return vars(self._parse_args(_RefusingParser))
        except (AssertionError, ArithmeticError, ValueError) as error:
            reason = str(error) or type(error).__name__
            raise ArgumentsRefused(
                f"{self.path.name} does not take these arguments: {reason}"
            ) from error
        finally:
            sys.argv = before


class _RefusingParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


class _Reported(BaseException):
    """Ends `parse_args` of a script once its arguments are declared."""

    def __init__(self, actions: list[argparse.Action]) -> None:
        self.actions = actions


class _ReportingParser(argparse.ArgumentParser):
    def parse_args(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise _Reported(self._actions)


@lru_cache(maxsize=64)
def read_arguments(path: Path) -> ArgumentSource:
    """Read the arguments that the script at `path` declares.

    Raises:
        SchemaUnreadable: there is no `parse_args` that stands on its own.
    """
    try:
        tree = syntax_tree(path)
        text = path.read_text(encoding="utf-8")
    except (SyntaxError, UnicodeDecodeError) as error:
        raise SchemaUnreadable(path, f"it is no Python 3.11 ({error})") from error
    declared = find_class(tree)
    if declared is not None:
        return _of_dataclass(declared, tree, path, text)
    function = copy(_find_parse_args(tree, path))  # the tree is not ours to change
    function.returns = None  # evaluated when the function is made, from names that are not here
    code = compile(ast.Module([function], []), str(path), "exec")

    def call(parser: type[argparse.ArgumentParser]) -> argparse.Namespace:
        # Exactly the names that these functions use. Any other name is a NameError, reported as SchemaUnreadable.
        space: dict[str, Any] = {
            "argparse": SimpleNamespace(ArgumentParser=parser),
            "os": os,
            "strtobool": _strtobool,
            "__file__": str(path),
        }
        exec(code, space)  # noqa: S102 - a piece of the installed script that `train` will run anyway
        parsed: argparse.Namespace = space["parse_args"]()
        return parsed

    try:
        call(_ReportingParser)
    except _Reported as reported:
        actions = tuple(a for a in reported.actions if a.dest != "help")
    except (NameError, AttributeError, TypeError, ValueError, LookupError) as error:
        raise SchemaUnreadable(path, f"{type(error).__name__}: {error}") from error
    else:
        raise SchemaUnreadable(path, "its parse_args() never calls the parser's parse_args()")
    return ArgumentSource(
        path, actions, _asserted_constants(function), _run_arguments(function, text), call
    )


def _of_dataclass(
    declared: ast.ClassDef, tree: ast.Module, path: Path, text: str
) -> ArgumentSource:
    parser = declare(declared, path, lambda: _RefusingParser(allow_abbrev=False, add_help=False))
    training = training_of(tree)
    computed = computed_arguments(training)

    def call(_parser: type[argparse.ArgumentParser]) -> argparse.Namespace:
        parsed = parser.parse_args(sys.argv[1:])
        compute(computed, parsed, path)
        return parsed

    # What the script computes itself is no argument that anybody can set.
    actions = tuple(action for action in parser._actions if action.dest not in computed)
    constants: dict[str, Any] = {}
    for statement in training:
        constants |= _asserted_constants(statement)
    own = first_algorithm_argument(declared, _border(text))
    return ArgumentSource(path, actions, constants, own, call)


def _strtobool(text: str) -> int:
    """As distutils has it, which later versions of Python no longer have."""
    if text.lower() in ("y", "yes", "t", "true", "on", "1"):
        return 1
    if text.lower() in ("n", "no", "f", "false", "off", "0"):
        return 0
    raise ValueError(f"invalid truth value {text!r}")


def _find_parse_args(tree: ast.Module, path: Path) -> ast.FunctionDef:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "parse_args":
            return node
    raise SchemaUnreadable(path, "it has no function parse_args()")


def _asserted_constants(part: ast.AST) -> dict[str, Any]:
    constants: dict[str, Any] = {}
    for node in ast.walk(part):
        match node:
            case ast.Assert(
                test=ast.Compare(
                    left=ast.Attribute(value=ast.Name(id="args"), attr=name),
                    ops=[ast.Eq()],
                    comparators=[ast.Constant(value=value)],
                )
            ):
                constants[name] = value
    return constants


def _run_arguments(function: ast.FunctionDef, text: str) -> frozenset[str]:
    """Return the arguments above the comment that parts those of the run from those of the algorithm."""
    border = _border(text)
    if border is None:
        return frozenset()
    return frozenset(
        node.args[0].value.removeprefix("--").replace("-", "_")
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "add_argument"
        and node.lineno < border
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    )


def _border(text: str) -> int | None:
    """Line of the comment that parts the arguments of the run from those of the algorithm."""
    lines = text.splitlines()
    return next(
        (n for n, line in enumerate(lines, 1) if "Algorithm specific arguments" in line), None
    )
