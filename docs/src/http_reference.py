"""The page of the HTTP API, from the gateway's OpenAPI document."""

from collections.abc import Mapping
from typing import Any
from unittest.mock import MagicMock

from code_paths import import_in_place
from field_texts import describe_fields
from schema_text import Schema, cell, default_text, model_section, type_text

_HEAD = """# HTTP API

Every route below `/api/v1` takes the stack's token: `Authorization: Bearer TOKEN`. The token is in
`secrets/gateway.token` of the data root. Bodies and answers are JSON; a refusal is a [Problem](#problem) with a stable
`code`. A running stack serves the same description as an OpenAPI document at `/api/v1/openapi.json`;
[openapi.json](openapi.json) is a copy of it.

The WebSocket `/api/v1/live` sends states and events as they happen. Its messages are models of
[`mosaic_contracts.live`](python_contracts.md#live-messages); the [Python client](python_client.md) handles connection,
order and gaps.

```
curl -H "Authorization: Bearer $(cat var/secrets/gateway.token)" http://127.0.0.1:8080/api/v1/runs
```
"""
_METHODS = ("get", "post", "put", "patch", "delete")


def openapi_document() -> dict[str, Any]:
    """Return the OpenAPI document of the gateway, without starting one."""
    app = import_in_place("mosaic_gateway.api.app").create_app(MagicMock(), "token")
    document: dict[str, Any] = app.openapi()
    return document


def http_page(document: Mapping[str, Any]) -> str:
    """Return the page as Markdown."""
    lines = [_HEAD, "## Routes", ""]
    for path, operations in document["paths"].items():
        for method in _METHODS:
            if method in operations:
                lines += _route(method, path, operations[method])
    lines += ["## Models", ""]
    for name, schema in sorted(document["components"]["schemas"].items()):
        lines += model_section(name, describe_fields(name, schema))
    return "\n".join(lines) + "\n"


def _route(method: str, path: str, operation: Mapping[str, Any]) -> list[str]:
    lines = [f"### {method.upper()} {path}", "", operation.get("description", ""), ""]
    lines += _parameters(operation.get("parameters", []))
    if body := operation.get("requestBody"):
        lines += [f"Body: {_content(body)}", ""]
    lines += ["| status | answer |", "| --- | --- |"]
    for status, answer in operation["responses"].items():
        content = _content(answer)
        words = "" if answer["description"] == "Successful Response" else answer["description"]
        said = ". ".join(part for part in (content, cell(words)) if part) or "no body"
        lines.append(f"| {'otherwise' if status == 'default' else status} | {said} |")
    return [*lines, ""]


def _parameters(parameters: list[Mapping[str, Any]]) -> list[str]:
    if not parameters:
        return []
    lines = ["| parameter | in | type | default | meaning |", "| --- | --- | --- | --- | --- |"]
    for one in parameters:
        schema: Schema = one.get("schema", {})
        default = "required" if one.get("required") else default_text(schema)
        kind = type_text(_without_null(schema))
        meaning = one.get("description") or schema.get("description", "")
        lines.append(
            f"| `{one['name']}` | {one['in']} | {cell(kind)} | {default} | {cell(meaning)} |"
        )
    return [*lines, ""]


def _without_null(schema: Schema) -> Schema:
    kinds = [one for one in schema.get("anyOf", []) if one.get("type") != "null"]
    return {**schema, "anyOf": kinds} if kinds else schema


def _content(body: Mapping[str, Any]) -> str:
    return " or ".join(
        type_text(content["schema"]) if content.get("schema") else f"`{media}`"
        for media, content in body.get("content", {}).items()
    )
