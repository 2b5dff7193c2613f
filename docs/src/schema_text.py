"""JSON Schema as Markdown: the type of a value in a few words, and a table of a model's fields."""

import json
from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]
_LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
    "maxLength": "at most {} characters",
    "maxItems": "at most {} items",
}


def type_text(schema: Schema) -> str:
    """Return the type in words; a model is a link to its heading."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(type_text(one) for one in schema[key]))
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {type_text(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"object of {type_text(schema['additionalProperties'])}"
    limits = [words.format(schema[key]) for key, words in _LIMITS.items() if key in schema]
    return ", ".join([str(kind), *limits])


def cell(text: str) -> str:
    """Return text that fits into one cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def default_text(schema: Schema) -> str:
    """Return the default as JSON, or nothing."""
    return f"`{json.dumps(schema['default'])}`" if "default" in schema else ""


def fields_table(schema: Schema) -> list[str]:
    """Return a table with a row for each field."""
    properties: Mapping[str, Schema] = schema.get("properties", {})
    if not properties:
        return []
    required = set(schema.get("required", ()))
    lines = ["| field | type | default | meaning |", "| --- | --- | --- | --- |"]
    for name, field in properties.items():
        default = "required" if name in required else default_text(field)
        meaning = cell(field.get("description", ""))
        lines.append(f"| `{name}` | {cell(type_text(field))} | {cell(default)} | {meaning} |")
    return [*lines, ""]


def model_section(name: str, schema: Schema, level: int = 3) -> list[str]:
    """Return a heading, the model's description, and its fields or values."""
    lines = [f"{'#' * level} {name}", ""]
    if description := schema.get("description"):
        lines += [" ".join(description.partition("\n\n")[0].split()), ""]
    if "enum" in schema:
        lines += [", ".join(f"`{value}`" for value in schema["enum"]), ""]
    return lines + fields_table(schema)
