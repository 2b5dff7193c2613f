"""What routes get from the framework (services, run ids, bodies) and how they answer."""

from email.message import Message
from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.datastructures import Headers
from starlette.responses import Response

from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_gateway.services import Services
from mosaic_gateway.strict_json import MAX_BODY_BYTES, JsonInvalid, read_json, write_json

_SHOWN = 100
"""Characters of a header that a refusal quotes."""


def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


ServicesDep = Annotated[Services, Depends(_services)]


async def _run_id(services: ServicesDep, run_id: str) -> str:
    return services.runs.parse(run_id)


async def _known_run(services: ServicesDep, run_id: str) -> str:
    return await services.runs.require(run_id)


RunId = Annotated[str, Depends(_run_id)]
"""A run id of the right form; anything else is `run_unknown`."""
KnownRun = Annotated[str, Depends(_known_run)]
"""Id of a run that exists (`Runs.require`)."""


def json_reply(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A reply in strict JSON. Routes return it themselves: the framework's encoder knows no NaN."""
    return Response(
        write_json(value), status_code=status, media_type="application/json", headers=headers
    )


async def json_body(request: Request) -> dict[str, Any]:
    """Read the body as a JSON object.

    Raises:
        JsonInvalid: it is not one.
        ProblemError: `media_type_refused`, the request says that it is something else, or does not say what it is.
    """
    _require_json(request.headers)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise JsonInvalid(f"the body is longer than {MAX_BODY_BYTES} bytes")
    value = read_json(bytes(body))
    if not isinstance(value, dict):
        raise JsonInvalid("an object was expected")
    return value


JsonBody = Annotated[dict[str, Any], Depends(json_body)]


def _require_json(headers: Headers) -> None:
    """Check that the body is JSON in UTF-8, uncompressed. Raises ProblemError `media_type_refused`.

    A page of another site can send text/plain, forms and bodies without a type to this address without asking first;
    for application/json a browser asks, and is refused.
    """
    given = headers.getlist("content-type")
    if len(given) != 1 or not _is_json(given[0]):
        said = ", ".join(given)[:_SHOWN]
        raise _refused(f"The Content-Type is {said!r}." if given else "There is no Content-Type.")
    encodings = headers.getlist("content-encoding")
    if any(encoding.strip().lower() not in ("", "identity") for encoding in encodings):
        raise _refused("The body has a Content-Encoding.")


def _is_json(content_type: str) -> bool:
    message = Message()
    message["Content-Type"] = content_type
    subtype = message.get_content_type().removeprefix("application/")
    charset = message.get_content_charset("utf-8")
    return (
        message.get_content_type().startswith("application/")
        and (subtype == "json" or subtype.endswith("+json"))
        and charset in ("utf-8", "utf8", "us-ascii")
    )


def _refused(why: str) -> ProblemError:
    return ProblemError(
        Problem(
            code=ProblemCode.MEDIA_TYPE_REFUSED,
            title="The body must be JSON and say so",
            detail=f"{why} Send uncompressed JSON in UTF-8 with `Content-Type: application/json`.",
        )
    )
