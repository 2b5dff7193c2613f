"""Every error leaves the gateway as a problem detail with a stable code; this is where that happens, once."""

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mosaic_contracts.fault import fault_place, fault_text
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_gateway.strict_json import JsonInvalid, write_json
from mosaic_servicekit.logging import get_log

ModelT = TypeVar("ModelT", bound=BaseModel)
PROBLEM_TYPE = "application/problem+json"


def problem_response(problem: Problem, headers: dict[str, str] | None = None) -> Response:
    """The reply that says `problem`, with `Retry-After` and `WWW-Authenticate` where they belong."""
    sent = dict(headers or {})
    if problem.retry_after_s is not None:
        sent["Retry-After"] = str(max(1, math.ceil(problem.retry_after_s)))
    if problem.code is ProblemCode.UNAUTHORIZED:
        sent["WWW-Authenticate"] = "Bearer"
    return Response(
        write_json(problem), status_code=problem.status, media_type=PROBLEM_TYPE, headers=sent
    )


def request_invalid(detail: str, fields: list[dict[str, Any]] | None = None) -> ProblemError:
    """What a request said cannot be understood."""
    return ProblemError(
        Problem(
            code=ProblemCode.REQUEST_INVALID,
            title="The request is not valid",
            detail=detail,
            fields=fields or [],
        )
    )


def validation_problem(findings: Iterable[Mapping[str, Any]]) -> Problem:
    """Findings of pydantic as one problem with a field each."""
    fields = [
        {"where": fault_place(finding), "message": fault_text(finding)} for finding in findings
    ]
    named = "; ".join(f"{field['where']}: {field['message']}" for field in fields[:5])
    return Problem(
        code=ProblemCode.REQUEST_INVALID,
        title="The request is not valid",
        detail=named,
        fields=fields,
    )


def model_of(model: type[ModelT], body: dict[str, Any]) -> ModelT:
    """A body as `model`. Raises ProblemError `request_invalid`."""
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise ProblemError(validation_problem(error.errors())) from error


def _http_problem(request: Request, error: HTTPException) -> Problem:
    path = request.url.path
    if error.status_code == HTTPStatus.NOT_FOUND:
        return Problem(
            code=ProblemCode.NOT_FOUND,
            title="There is nothing at this address",
            detail=f"{path} is not a path of this API; /api/v1/openapi.json lists them.",
        )
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = (error.headers or {}).get("Allow", "")
        return Problem(
            code=ProblemCode.METHOD_REFUSED,
            title=f"{request.method} is not possible here",
            detail=f"{path} accepts {allowed or 'another method'}.",
        )
    return Problem(
        code=ProblemCode.REQUEST_INVALID,
        title="The request is not valid",
        detail=str(error.detail),
        status=error.status_code,
    )


def install_problem_handlers(app: FastAPI) -> None:
    """Teach `app` to answer every refusal with a problem detail."""

    async def on_problem(_request: Request, error: ProblemError) -> Response:
        return problem_response(error.problem)

    async def on_http(request: Request, error: HTTPException) -> Response:
        return problem_response(_http_problem(request, error), dict(error.headers or {}))

    async def on_validation(_request: Request, error: RequestValidationError) -> Response:
        return problem_response(validation_problem(error.errors()))

    async def on_json(_request: Request, error: JsonInvalid) -> Response:
        return problem_response(request_invalid(f"The body is not JSON: {error}.").problem)

    handlers: dict[type[Exception], Callable[[Request, Any], Awaitable[Response]]] = {
        ProblemError: on_problem,
        HTTPException: on_http,
        RequestValidationError: on_validation,
        JsonInvalid: on_json,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


class UnexpectedErrors:
    """ASGI boundary: log an unexpected exception once and answer `internal`, without its trace."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception:
            if scope["type"] == "lifespan":
                raise
            get_log().exception(
                "request.failed", path=scope.get("path"), method=scope.get("method")
            )
            if scope["type"] == "http" and not started:
                problem = Problem(
                    code=ProblemCode.INTERNAL,
                    title="The gateway failed on this request",
                    detail="The cause is in the gateway's log; the other requests go on.",
                )
                await problem_response(problem)(scope, receive, send)
