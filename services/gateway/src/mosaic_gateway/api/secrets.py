"""`/secrets`: what runs may be given by name. A value goes in and never comes out, not even in a refusal or a log."""

import json
import re
from typing import Annotated

from fastapi import Depends, Request
from pydantic import ValidationError
from starlette.responses import Response

from mosaic_contracts import verbs
from mosaic_contracts.access import SecretEntries, SecretEntry, SecretValue
from mosaic_contracts.problems import Problem, ProblemError
from mosaic_contracts.services import NoRequest, SecretRequest, SetSecretRequest
from mosaic_contracts.spec import SECRET_NAME_PATTERN
from mosaic_gateway.api.deps import ServicesDep, json_body, json_reply
from mosaic_gateway.api.openapi import body_of
from mosaic_gateway.api.routes import Routes
from mosaic_gateway.problem_reply import request_invalid
from mosaic_gateway.strict_json import JsonInvalid

router = Routes(tags=["secrets"])


async def _secret_body(request: Request) -> SecretValue:
    """The value. What is wrong with a body is not quoted from it: any part of it may be the secret."""
    try:
        return SecretValue.model_validate(await json_body(request))
    except (JsonInvalid, ValidationError):
        raise request_invalid(
            'The body must be {"value": "..."} and nothing else, with 1 to 65536 characters of text.'
        ) from None


def _secret_name(name: str) -> str:
    if re.fullmatch(SECRET_NAME_PATTERN, name) is None:
        raise _name_invalid()
    return name


def _name_invalid() -> ProblemError:
    # Not quoted either: who mixes up name and value must not find it in a log.
    return request_invalid(
        "The name of a secret begins with a letter and has up to 64 letters, digits and underscores."
    )


SecretBody = Annotated[SecretValue, Depends(_secret_body)]
Name = Annotated[str, Depends(_secret_name)]


@router.get("/secrets", response_model=SecretEntries)
async def list_secrets(services: ServicesDep) -> Response:
    """Names of the secrets."""
    return json_reply(await services.scheduler.call(verbs.SECRETS, NoRequest()))


@router.put("/secrets/{name}", response_model=SecretEntry, openapi_extra=body_of(SecretValue))
async def put_secret(services: ServicesDep, name: Name, body: SecretBody) -> Response:
    """Keep a secret, in place of an earlier one of that name."""
    try:
        entry = await services.scheduler.call(
            verbs.SET_SECRET, SetSecretRequest(name=name, value=body.value)
        )
    except ProblemError as error:
        raise ProblemError(_without(error.problem, body.value.get_secret_value())) from None
    return json_reply(entry)


@router.delete("/secrets/{name}", status_code=204)
async def delete_secret(services: ServicesDep, name: Name) -> Response:
    """Forget a secret."""
    await services.scheduler.call(verbs.DELETE_SECRET, SecretRequest(name=name))
    return Response(status_code=204)


def _without(problem: Problem, secret: str) -> Problem:
    """`problem`, or its bare code when somebody quoted the secret in it."""
    shown = problem.model_dump_json()
    # As it is written in JSON, too: with quotation marks and backslashes escaped.
    if secret not in shown and json.dumps(secret, ensure_ascii=False)[1:-1] not in shown:
        return problem
    return Problem(
        code=problem.code,
        status=problem.status,
        title="The secret was refused",
        detail="The reason quotes the value, so it is not shown.",
    )
