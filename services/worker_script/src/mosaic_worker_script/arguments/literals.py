"""Values that a syntax tree states: literals, and names that the module gives one."""

import ast
from collections.abc import Mapping
from typing import Any

UNKNOWN = object()
"""A value that is computed."""
_TYPES = {"int": "integer", "float": "number", "str": "string", "bool": "boolean"}


def module_values(tree: ast.Module) -> dict[str, Any]:
    """Return the names that the module gives a literal, at its top level."""
    found: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Name):
                found[target.id] = value_of(value, found)
    return {name: value for name, value in found.items() if value is not UNKNOWN}


def value_of(node: ast.expr | None, names: Mapping[str, Any]) -> Any:
    """Return the value that an expression states; `UNKNOWN` where it is computed.

    Args:
        node: the expression; None: there is none.
        names: of the module, from `module_values`.
    """
    if node is None:
        return UNKNOWN
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return UNKNOWN


def type_name(node: ast.expr | None) -> str | None:
    """Return the type of JSON Schema that an annotation or a `type=` names; None: another one.

    `Optional[int]` and `int | None` are `integer`.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            return type_name(ast.parse(node.value, mode="eval").body)
        except SyntaxError:
            return None
    if isinstance(node, ast.Name):
        return _TYPES.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return type_name(node.left) or type_name(node.right)
    if isinstance(node, ast.Subscript) and _last_name(node.value) == "Optional":
        return type_name(node.slice)
    return None


def choices_of(node: ast.expr | None) -> tuple[Any, ...]:
    """Return the values of a `Literal[...]` annotation; empty: it is none."""
    if isinstance(node, ast.Subscript) and _last_name(node.value) == "Literal":
        value = value_of(node.slice, {})
        if value is not UNKNOWN:
            return value if isinstance(value, tuple) else (value,)
    return ()


def type_of_value(value: Any) -> str | None:
    """Return the type of JSON Schema of a literal; None: it has none of the four."""
    return _TYPES.get(type(value).__name__)


def called(node: ast.AST) -> str:
    """Return the last name of what a call calls: `add_argument` of `parser.add_argument(...)`; else ""."""
    return _last_name(node.func) if isinstance(node, ast.Call) else ""


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """Return a keyword argument of a call."""
    return next((one.value for one in call.keywords if one.arg == name), None)


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
