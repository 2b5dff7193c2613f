"""What the source says about the fields of models: the text below each field of a class."""

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from code_paths import ROOT

_CONTRACTS = ROOT / "packages" / "contracts" / "src"


def describe_fields(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of the model `name`, with the source's text as the description of each field."""
    texts = _texts_of(name)
    properties = {
        field: {"description": texts[field], **value} if field in texts else value
        for field, value in schema.get("properties", {}).items()
    }
    return {**schema, "properties": properties} if properties else dict(schema)


def _texts_of(name: str) -> dict[str, str]:
    found = _classes().get(name)
    if found is None:
        return {}
    bases, own = found
    texts: dict[str, str] = {}
    for base in bases:
        texts |= _texts_of(base)
    return texts | own


@cache
def _classes() -> dict[str, tuple[list[str], dict[str, str]]]:
    """Base classes and texts of fields, by class."""
    return {
        node.name: ([base.id for base in node.bases if isinstance(base, ast.Name)], _own(node))
        for path in sorted(_CONTRACTS.rglob("*.py"))
        for node in _parsed(path).body
        if isinstance(node, ast.ClassDef)
    }


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


def _own(node: ast.ClassDef) -> dict[str, str]:
    texts: dict[str, str] = {}
    for field, text in zip(node.body, node.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        ):
            texts[field.target.id] = text.value.value
    return texts
