"""Arguments that are fields of a dataclass (tyro, HfArgumentParser, simple-parsing), or parameters of a function."""

import ast
from collections.abc import Mapping
from typing import Any

from mosaic_worker_script.arguments.argument import FlagStyle, ScriptArgument
from mosaic_worker_script.arguments.literals import (
    UNKNOWN,
    called,
    choices_of,
    keyword,
    type_name,
    type_of_value,
    value_of,
)

_CLASSES = {"cli": FlagStyle.PAIR, "HfArgumentParser": FlagStyle.VALUE, "parse": FlagStyle.VALUE}
"""Calls that take a dataclass, and how they take a boolean."""


def class_arguments(tree: ast.Module, names: Mapping[str, Any]) -> list[ScriptArgument]:
    """Return the fields of the dataclasses that the script passes to tyro, HfArgumentParser or simple-parsing.

    Args:
        tree: of the script.
        names: of the module, from `module_values`.
    """
    classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    found: list[ScriptArgument] = []
    for call in ast.walk(tree):
        style = _CLASSES.get(called(call))
        if style is None or not isinstance(call, ast.Call):
            continue
        for name in _named(call):
            if name in classes:
                found += _fields(classes[name], classes, names, style)
    return list({argument.name: argument for argument in found}.values())


def function_arguments(tree: ast.Module, names: Mapping[str, Any]) -> list[ScriptArgument]:
    """Return the parameters of the function that the script passes to `fire.Fire`, `typer.run` or `tyro.cli`.

    Args:
        tree: of the script.
        names: of the module, from `module_values`.
    """
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or called(call) not in ("Fire", "run", "cli"):
            continue
        is_fire = called(call) == "Fire"
        for name in _named(call):
            if name in functions:
                return _parameters(functions[name], names, is_fire)
    return []


def _named(call: ast.Call) -> list[str]:
    """The names among the arguments of a call, also those in a tuple or list."""
    nodes: list[ast.expr] = []
    for node in call.args:
        nodes += node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
    return [node.id for node in nodes if isinstance(node, ast.Name)]


def _fields(
    node: ast.ClassDef,
    classes: Mapping[str, ast.ClassDef],
    names: Mapping[str, Any],
    style: FlagStyle,
) -> list[ScriptArgument]:
    found: dict[str, ScriptArgument] = {}
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in classes and base.id != node.name:
            inherited = _fields(classes[base.id], classes, names, style)
            found |= {argument.name: argument for argument in inherited}
    for at, line in enumerate(node.body):
        if not isinstance(line, ast.AnnAssign) or not isinstance(line.target, ast.Name):
            continue
        after = node.body[at + 1] if at + 1 < len(node.body) else None
        default, help_text = _default(line.value, names)
        found[line.target.id] = _argument(
            line.target.id,
            line.annotation,
            default,
            style,
            help_text or _docstring(after),
            required=line.value is None,
        )
    return list(found.values())


def _parameters(
    node: ast.FunctionDef, names: Mapping[str, Any], is_fire: bool
) -> list[ScriptArgument]:
    every = [*node.args.posonlyargs, *node.args.args]
    absent: list[ast.expr | None] = [None] * (len(every) - len(node.args.defaults))
    pairs = list(zip(every, [*absent, *node.args.defaults], strict=True))
    pairs += list(zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True))
    found = []
    for parameter, value in pairs:
        default, help_text = _default(value, names)
        made = _argument(
            parameter.arg,
            parameter.annotation,
            default,
            FlagStyle.JOINED if is_fire else FlagStyle.PAIR,
            help_text,
            required=value is None,
        )
        found.append(made)
    return found


def _argument(
    name: str,
    annotation: ast.expr | None,
    default: Any,
    style: FlagStyle,
    help_text: str,
    *,
    required: bool,
) -> ScriptArgument:
    choices = choices_of(annotation)
    kind = type_name(annotation)
    if kind is None:
        kind = type_of_value(choices[0] if choices else default)
    is_switch = kind == "boolean" and style is FlagStyle.PAIR
    flag = f"--{name}" if style is FlagStyle.JOINED else f"--{name.replace('_', '-')}"
    plain = FlagStyle.JOINED if style is FlagStyle.JOINED else FlagStyle.VALUE
    return ScriptArgument(
        name=name,
        flag=flag,
        type=kind,
        style=FlagStyle.PAIR if is_switch else plain,
        default=None if default is UNKNOWN else default,
        choices=choices,
        help=help_text,
        required=required,
        is_list=isinstance(default, list | tuple),
    )


def _default(node: ast.expr | None, names: Mapping[str, Any]) -> tuple[Any, str]:
    """The default of a field and its help: a literal, or what `field(...)` or `typer.Option(...)` is given."""
    if not isinstance(node, ast.Call):
        return value_of(node, names), ""
    first = node.args[0] if node.args else keyword(node, "default")
    text = value_of(keyword(node, "help"), names)
    metadata = value_of(keyword(node, "metadata"), names)
    if isinstance(metadata, dict) and text is UNKNOWN:
        text = metadata.get("help", UNKNOWN)
    return value_of(first, names), " ".join(text.split()) if isinstance(text, str) else ""


def _docstring(node: ast.stmt | None) -> str:
    """The text below a field, as tyro shows it."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        text = node.value.value
        return " ".join(text.split()) if isinstance(text, str) else ""
    return ""
