"""Arguments of a script of hydra: the values of its configuration files."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from mosaic_worker_script.arguments.argument import FlagStyle, ScriptArgument
from mosaic_worker_script.arguments.literals import called, keyword, type_of_value, value_of
from mosaic_worker_script.errors import ScriptUnreadable

_SELF = "_self_"
_REQUIRED = "???"
_GLOBAL = "# @package _global_"


def hydra_arguments(
    tree: ast.Module, names: Mapping[str, Any], folder: Path
) -> list[ScriptArgument]:
    """Return the values of the configuration that `hydra.main` names, and the groups of its defaults.

    A value in a map has the names of both with a dot between. One that refers to another (`${...}`) has no default
    here. Configurations that the script registers as classes are not read.

    Args:
        tree: of the script.
        names: of the module, from `module_values`.
        folder: of the script.

    Raises:
        ScriptUnreadable: a file of the configuration is no YAML, or is not there.
    """
    for call in ast.walk(tree):
        name = _value(call, "config_name", 1, names)
        if called(call) == "main" and isinstance(name, str):
            root = _value(call, "config_path", 0, names)
            return _of_file(folder / (root if isinstance(root, str) else "."), name)
    return []


def _value(call: ast.AST, name: str, place: int, names: Mapping[str, Any]) -> Any:
    if not isinstance(call, ast.Call):
        return None
    given = keyword(call, name)
    if given is None and len(call.args) > place:
        given = call.args[place]
    return value_of(given, names)


def _of_file(root: Path, name: str) -> list[ScriptArgument]:
    own = _load(root, name)
    found: dict[str, ScriptArgument] = {}
    for entry in own.pop("defaults", []):
        for group, choice in entry.items() if isinstance(entry, dict) else [("", entry)]:
            group = str(group).rpartition(" ")[2].partition("@")[0].strip("/")
            if group.startswith("hydra") or not isinstance(choice, str) or choice == _SELF:
                continue
            if group:
                argument = _group(root, group, choice)
                found[argument.name] = argument
            below = "/".join(part for part in (group, choice) if part)
            values = _load(root, below)
            package = "" if _is_global(root, below) else below.rpartition("/")[0].replace("/", ".")
            found |= {one.name: one for one in _flat(values, package)}
    return list((found | {one.name: one for one in _flat(own, "")}).values())


def _group(root: Path, group: str, choice: str) -> ScriptArgument:
    choices = tuple(sorted(path.stem for path in (root / group).glob("*.y*ml")))
    return ScriptArgument(
        name=group.replace("/", "."),
        flag=group,
        type="string",
        style=FlagStyle.OVERRIDE,
        default=choice,
        choices=choices,
        help=f"File of the folder {group} with further values.",
    )


def _flat(values: Mapping[str, Any], package: str) -> Iterator[ScriptArgument]:
    for key, value in values.items():
        name = f"{package}.{key}" if package else str(key)
        if isinstance(value, dict) and value:
            yield from _flat(value, name)
            continue
        is_open = isinstance(value, str) and ("${" in value or value == _REQUIRED)
        is_list = isinstance(value, list | dict)
        yield ScriptArgument(
            name=name,
            flag=name,
            type=None if is_open or is_list else type_of_value(value),
            style=FlagStyle.OVERRIDE,
            default=None if is_open or is_list else value,
            help=f"As {value}." if is_list or (is_open and value != _REQUIRED) else "",
            required=value == _REQUIRED,
        )


def _file(root: Path, name: str) -> Path:
    path = root / name
    return path if path.suffix in (".yaml", ".yml") else root / f"{name}.yaml"


def _is_global(root: Path, name: str) -> bool:
    return _file(root, name).read_text("utf-8").lstrip().startswith(_GLOBAL)


def _load(root: Path, name: str) -> dict[str, Any]:
    path = _file(root, name)
    try:
        found = YAML(typ="safe", pure=True).load(path.read_text("utf-8"))
    except OSError as error:
        raise ScriptUnreadable(f"{path} cannot be read: {error.strerror}") from error
    except (YAMLError, UnicodeDecodeError) as error:
        raise ScriptUnreadable(f"{path} is no YAML: {error}") from error
    if found is not None and not isinstance(found, dict):
        raise ScriptUnreadable(f"{path} has no names with values")
    return found or {}
