"""Any request of the HTTP interface, for a route that is newer than this client's methods."""

import json
from collections.abc import Mapping
from typing import Any, TypeVar, overload

from pydantic import BaseModel

from mosaic_client.answer import HttpAnswer
from mosaic_client.call import WORKER_TIMEOUT_S, Call, QueryValue
from mosaic_client.client import Client
from mosaic_contracts.http_api import PREFIX, Method

M = TypeVar("M", bound=BaseModel)
Body = BaseModel | Mapping[str, Any]


@overload
def request(
    client: Client,
    method: Method,
    path: str,
    model: type[M],
    *,
    query: Mapping[str, QueryValue] | None = None,
    body: Body | None = None,
) -> M: ...


@overload
def request(
    client: Client,
    method: Method,
    path: str,
    model: None,
    *,
    query: Mapping[str, QueryValue] | None = None,
    body: Body | None = None,
) -> None: ...


def request(
    client: Client,
    method: Method,
    path: str,
    model: type[BaseModel] | None,
    *,
    query: Mapping[str, QueryValue] | None = None,
    body: Body | None = None,
) -> BaseModel | None:
    """Send one request to `path` below `/api/v1` and read the answer as `model` (None: it has no body).

    Only a GET is sent again when the connection breaks. Fields of a model in the body that were not set are not sent.

    Raises:
        MosaicProblem: the stack refused or failed.
        StackUnreachable: it does not answer.
        AnswerInvalid: not an answer of a gateway.
    """

    def read(answer: HttpAnswer) -> BaseModel | None:
        return None if model is None else model.model_validate_json(answer.content)

    call = Call[Any](
        method,
        PREFIX + path,
        read,
        query=query or {},
        body=None if body is None else _encoded(body),
        timeout_s=WORKER_TIMEOUT_S,
    )
    answer: BaseModel | None = client.send(call)
    return answer


def _encoded(body: Body) -> bytes:
    if isinstance(body, BaseModel):
        return body.model_dump_json(exclude_unset=True).encode()
    return json.dumps(dict(body), allow_nan=False).encode()
