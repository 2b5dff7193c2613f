"""The table of HTTP operations that clients use is that of the gateway."""

from pathlib import Path
from typing import Any

from mosaic_contracts import http_api
from mosaic_contracts.http_api import Operation
from mosaic_gateway.api.app import create_app
from mosaic_gateway.services import assemble
from mosaic_gateway.settings import GatewaySettings
from mosaic_servicekit.bus import Bus

FORMS = {
    "text": "text/plain",
    "msgpack": "application/msgpack",
    "file": "*/*",
    "nothing": None,
}
"""Media type of each form that is no JSON."""


def _reference(model: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{model.partition('.')[2]}"}


def _content(operation: Operation[Any]) -> dict[str, Any] | None:
    """What the document should say of a successful answer's content; None: there is none."""
    if operation.form in FORMS:
        media_type = FORMS[operation.form]
        return None if media_type is None else {media_type: None}
    schema: dict[str, Any] | None = None
    if operation.form == "model":
        schema = _reference(operation.answer)
    elif operation.form == "list":
        schema = {"items": _reference(operation.answer), "type": "array"}
    return {"application/json": schema}


def _described(found: dict[str, Any], has_schema: bool) -> dict[str, Any] | None:
    success = next(reply for status, reply in found["responses"].items() if status[0] == "2")
    content = success.get("content")
    if not content:
        return None
    shown: dict[str, Any] = {}
    for media_type, description in content.items():
        schema = dict(description.get("schema", {}))
        schema.pop("title", None)
        shown[media_type] = schema if has_schema else None
    return shown


async def test_the_table_of_operations_is_the_openapi_document(tmp_path: Path) -> None:
    """Method, path, parameters, body, key and answer of each operation, and no operation is missing."""
    bus = Bus("nats://127.0.0.1:1", "gateway")
    services = assemble(GatewaySettings(home=tmp_path), bus, b"k" * 43)
    document = create_app(services, "t" * 43).openapi()
    await services.close()
    published = {
        (method.upper(), path): found
        for path, methods in document["paths"].items()
        for method, found in methods.items()
    }
    table = {(one.method, one.path): one for one in http_api.OPERATIONS.values()}
    assert len(table) == len(http_api.OPERATIONS)
    assert set(table) == set(published)
    for key, operation in table.items():
        found = published[key]
        expected = _content(operation)
        has_schema = operation.form in ("model", "list")
        assert _described(found, has_schema) == expected, key
        body = found.get("requestBody", {}).get("content", {}).get("application/json", {})
        assert body.get("schema") == (_reference(operation.body) if operation.body else None), key
        file = found.get("requestBody", {}).get("content", {}).get("application/octet-stream")
        assert (file is not None) == operation.takes_file, key
        parameters = [(one["in"], one["name"]) for one in found.get("parameters", [])]
        assert (("header", "idempotency-key") in parameters) == operation.takes_key, key
        in_path = [name for place, name in parameters if place == "path"]
        names = [piece.partition("}")[0] for piece in operation.path.split("{")[1:]]
        assert sorted(in_path) == sorted(names), key


def test_the_models_of_the_table_exist_and_are_those_of_its_types() -> None:
    """Each name is a class of the contracts, and the annotation that type checkers read names the same one."""
    annotations = http_api.__annotations__
    for name, operation in http_api.OPERATIONS.items():
        if operation.body:
            assert isinstance(operation.body_model(), type), name
        if operation.answer:
            assert operation.answer_model().__name__ in annotations[name], name
