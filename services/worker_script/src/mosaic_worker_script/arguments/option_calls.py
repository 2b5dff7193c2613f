"""Arguments of `click.option`, `click.argument` and of absl's `flags.DEFINE_...`."""

import ast
from collections.abc import Mapping
from typing import Any

from mosaic_worker_script.arguments.argument import FlagStyle, ScriptArgument
from mosaic_worker_script.arguments.literals import (
    UNKNOWN,
    called,
    keyword,
    type_name,
    type_of_value,
    value_of,
)

_CLICK_TYPES = {"INT": "integer", "FLOAT": "number", "STRING": "string", "BOOL": "boolean"}
_ABSL = {
    "DEFINE_integer": "integer",
    "DEFINE_float": "number",
    "DEFINE_string": "string",
    "DEFINE_bool": "boolean",
    "DEFINE_boolean": "boolean",
    "DEFINE_enum": "string",
}


def click_arguments(tree: ast.Module, names: Mapping[str, Any]) -> list[ScriptArgument]:
    """Return the options and arguments of the script's click command, in their order.

    Args:
        tree: of the script.
        names: of the module, from `module_values`.
    """
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and called(decorator) in ("option", "argument"):
                argument = _click(decorator, names, called(decorator) == "argument")
                found += [argument] if argument is not None else []
    return found


def absl_arguments(tree: ast.Module, names: Mapping[str, Any]) -> list[ScriptArgument]:
    """Return the flags that the script defines with absl.

    Args:
        tree: of the script.
        names: of the module, from `module_values`.
    """
    found = []
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or called(call) not in _ABSL or len(call.args) < 2:
            continue
        name, default, *rest = [value_of(node, names) for node in call.args]
        if not isinstance(name, str):
            continue
        is_enum = called(call) == "DEFINE_enum"
        choices = rest[0] if is_enum and rest and isinstance(rest[0], list | tuple) else ()
        text = rest[-1] if rest and isinstance(rest[-1], str) else ""
        found.append(
            ScriptArgument(
                name=name,
                flag=f"--{name}",
                type=_ABSL[called(call)],
                style=FlagStyle.JOINED,
                default=None if default is UNKNOWN else default,
                choices=tuple(choices),
                help=" ".join(text.split()),
            )
        )
    return found


def _click(call: ast.Call, names: Mapping[str, Any], is_positional: bool) -> ScriptArgument | None:
    words = [value for node in call.args if isinstance(value := value_of(node, names), str)]
    if not words:
        return None
    long = next((word for word in words if word.startswith("--")), words[0])
    on, _, off = long.partition("/")
    given = next((word for word in words if not word.startswith("-")), None)
    default = value_of(keyword(call, "default"), names)
    kind = _click_type(keyword(call, "type"), names)
    if kind is None:
        kind = type_of_value(default) if default is not UNKNOWN else "string"
    style = FlagStyle.POSITIONAL if is_positional else FlagStyle.VALUE
    if off:
        kind, style = "boolean", FlagStyle.PAIR
    elif value_of(keyword(call, "is_flag"), names) is True:
        kind, style = "boolean", FlagStyle.SWITCH
        default = False if default is UNKNOWN else default
    choices = _click_choices(keyword(call, "type"), names)
    text = value_of(keyword(call, "help"), names)
    required = value_of(keyword(call, "required"), names)
    return ScriptArgument(
        name=(given or on.lstrip("-")).replace("-", "_"),
        flag="" if is_positional else on,
        type="string" if choices else kind,
        style=style,
        default=None if default is UNKNOWN else default,
        choices=choices,
        help=" ".join(text.split()) if isinstance(text, str) else "",
        required=required is True
        or (is_positional and default is UNKNOWN and required is not False),
        is_list=value_of(keyword(call, "multiple"), names) is True,
    )


def _click_type(node: ast.expr | None, names: Mapping[str, Any]) -> str | None:
    if isinstance(node, ast.Attribute):
        return _CLICK_TYPES.get(node.attr)
    if isinstance(node, ast.Call):
        return {"IntRange": "integer", "FloatRange": "number"}.get(called(node))
    return type_name(node)


def _click_choices(node: ast.expr | None, names: Mapping[str, Any]) -> tuple[Any, ...]:
    if isinstance(node, ast.Call) and called(node) == "Choice" and node.args:
        value = value_of(node.args[0], names)
        return tuple(value) if isinstance(value, list | tuple) else ()
    return ()
