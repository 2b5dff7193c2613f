"""The OpenAPI document: what FastAPI finds out by itself, and what it cannot know.

Bodies are read and validated elsewhere than in the framework (strict JSON, the scheduler), so their models are put in
here; every refusal is a problem; and floats of answers may be the words for what JSON has no number for.
"""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from mosaic_contracts.access import SecretValue, TicketRequest
from mosaic_contracts.alerts import AlertRuleRequest, AlertTargetRequest, AlertTestRequest
from mosaic_contracts.branches import ForkRequest
from mosaic_contracts.changes import CloneRequest, PlayRequest, QueuePatch, RunPatch
from mosaic_contracts.dashboards import DashboardRequest
from mosaic_contracts.groups import GroupRetry, GroupSpec
from mosaic_contracts.metric_figures import MetricFigureQuery
from mosaic_contracts.problems import Problem
from mosaic_contracts.replays import ReplayRequest
from mosaic_contracts.run_archives import FreeRequest
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.storage_reports import PruneRequest, UndoRequest
from mosaic_contracts.sweeps import SweepResume, SweepSpec, SweepStop
from mosaic_contracts.syncs import SyncRequest
from mosaic_gateway.problem_reply import PROBLEM_TYPE

BODIES = (
    *(RunSpec, RunPatch, QueuePatch, CloneRequest, PlayRequest, ForkRequest, ReplayRequest),
    *(DashboardRequest, SweepSpec, SweepStop, SweepResume, SyncRequest, SecretValue, TicketRequest),
    *(PruneRequest, UndoRequest, FreeRequest, GroupSpec, GroupRetry),
    MetricFigureQuery,
    *(AlertRuleRequest, AlertTestRequest, AlertTargetRequest),
    MetricFigureQuery,
)
_REF = "#/components/schemas/{model}"
_FLOAT = {"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]}


FILE_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The bytes of the file.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
"""For `openapi_extra` of a route whose body is a file."""


def body_of(model: type[BaseModel]) -> dict[str, Any]:
    """For `openapi_extra`: the route reads the body by itself, and `model`, one of `BODIES`, describes it."""
    schema = {"$ref": _REF.format(model=model.__name__)}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def problems() -> dict[int | str, dict[str, Any]]:
    """For `responses`: whatever is not said otherwise is a problem."""
    schema = {"$ref": _REF.format(model=Problem.__name__)}
    described = "A problem (RFC 9457); `code` is stable."
    return {"default": {"description": described, "content": {PROBLEM_TYPE: {"schema": schema}}}}


def document(app: FastAPI) -> dict[str, Any]:
    """The document of `app`."""
    found = get_openapi(title=app.title, version=app.version, routes=app.routes)
    for operations in found["paths"].values():
        for operation in operations.values():
            # FastAPI's own form of a refusal, which never leaves this gateway.
            operation["responses"].pop("422", None)
    schemas: dict[str, Any] = found["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    for schema in schemas.values():
        _name_floats(schema)
    for model in (*BODIES, Problem):
        schema = model.model_json_schema(ref_template=_REF)
        for name, part in schema.pop("$defs", {}).items():
            schemas.setdefault(name, part)
        schemas[model.__name__] = schema
    return found


def _name_floats(schema: Any) -> None:
    """Wherever a float of an answer is described, allow the words as well."""
    if isinstance(schema, list):
        for part in schema:
            _name_floats(part)
    elif isinstance(schema, dict):
        if schema.get("type") == "number":
            del schema["type"]
            schema.update(_FLOAT)
            return
        for part in schema.values():
            _name_floats(part)
