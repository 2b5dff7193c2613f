"""Arguments of `argparse`: every `add_argument` of a script."""

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

_NO_ARGUMENTS = ("help", "version")


def argparse_arguments(tree: ast.Module, names: Mapping[str, Any]) -> list[ScriptArgument]:
    """Return the arguments, in the order of the script.

    Args:
        tree: of the script.
        names: of the module, from `module_values`.
    """
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and called(node) == "add_argument"
    ]
    calls.sort(key=lambda node: (node.lineno, node.col_offset))
    found = [_argument(call, names) for call in calls]
    return [argument for argument in found if argument is not None]


def _argument(call: ast.Call, names: Mapping[str, Any]) -> ScriptArgument | None:
    flags = [value for node in call.args if isinstance(value := value_of(node, names), str)]
    if not flags or len(flags) != len(call.args):
        return None
    given = {
        name: value_of(keyword(call, name), names)
        for name in ("default", "dest", "help", "nargs", "choices", "required", "const")
    }
    action = keyword(call, "action")
    how = value_of(action, names)
    if how in _NO_ARGUMENTS:
        return None
    is_option = flags[0].startswith("-")
    flag = next((one for one in flags if one.startswith("--")), flags[0]) if is_option else ""
    dest = given["dest"] if isinstance(given["dest"], str) else None
    name = dest or flag.lstrip("-").replace("-", "_") or flags[0]
    default = None if given["default"] is UNKNOWN else given["default"]
    kind, style = _form(call, action, how, given, default)
    if style in (FlagStyle.SWITCH, FlagStyle.OFF_SWITCH) and default is None:
        default = style is FlagStyle.OFF_SWITCH
    if kind == "boolean" and isinstance(default, str):
        default = {"true": True, "false": False}.get(default.lower())
    choices = given["choices"] if isinstance(given["choices"], list | tuple) else ()
    nargs = given["nargs"]
    return ScriptArgument(
        name=name,
        flag=flag,
        type=kind,
        style=style if is_option else FlagStyle.POSITIONAL,
        default=default,
        choices=tuple(choices),
        help=_help(given["help"]),
        required=given["required"] is True or (not is_option and nargs not in ("?", "*")),
        is_list=nargs in ("+", "*") or (isinstance(nargs, int) and nargs > 1) or how == "append",
    )


def _form(
    call: ast.Call, action: ast.expr | None, how: Any, given: Mapping[str, Any], default: Any
) -> tuple[str | None, FlagStyle]:
    """The type of an argument, and how a value is written."""
    if how == "store_true":
        return "boolean", FlagStyle.SWITCH
    if how == "store_false":
        return "boolean", FlagStyle.OFF_SWITCH
    if isinstance(action, ast.Attribute | ast.Name) and "BooleanOptionalAction" in ast.dump(action):
        return "boolean", FlagStyle.PAIR
    asked = keyword(call, "type")
    if given["nargs"] == "?" and given["const"] is True:
        return (
            "boolean",
            FlagStyle.VALUE,
        )  # `type=lambda x: bool(strtobool(x)), nargs="?", const=True`
    if asked is None:
        return "string", FlagStyle.VALUE
    if isinstance(asked, ast.Name) and asked.id == "bool":
        return None, FlagStyle.VALUE  # bool("False") is true: only its author knows what it takes
    found = type_name(asked)
    if found is None and "bool" in ast.dump(asked):
        return "boolean", FlagStyle.VALUE  # str2bool, strtobool
    return found or (None if default is None else type_of_value(default)), FlagStyle.VALUE


def _help(text: Any) -> str:
    return " ".join(text.replace("%%", "%").split()) if isinstance(text, str) else ""
