"""`/tickets`: links for what cannot send a bearer token."""

import math
import re
import time
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import quote, unquote_to_bytes

from fastapi import Depends
from starlette.responses import Response

from mosaic_contracts.access import Ticket, TicketRequest
from mosaic_contracts.http_api import PREFIX
from mosaic_gateway.access.ticket import PARAMETER, with_ticket
from mosaic_gateway.api.deps import JsonBody, ServicesDep, json_reply
from mosaic_gateway.api.openapi import body_of
from mosaic_gateway.api.routes import Routes
from mosaic_gateway.problem_reply import model_of, request_invalid

router = Routes(tags=["tickets"])

_KEPT = "/?&=%:@!$()*+,;~-._"
"""No quotation mark: browsers encode it in a query, and the signature is of what was written."""
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


def _request(body: JsonBody) -> TicketRequest:
    return model_of(TicketRequest, body)


@router.post("/tickets", response_model=Ticket, openapi_extra=body_of(TicketRequest))
async def make_ticket(
    services: ServicesDep, request: Annotated[TicketRequest, Depends(_request)]
) -> Response:
    """A link that opens one path to GET until it expires."""
    address = PREFIX + _address(request.path)
    expires = math.ceil(time.time() + request.ttl_s)
    url = with_ticket(services.ticket_key, address, expires)
    return json_reply(Ticket(url=url, expires_at=datetime.fromtimestamp(expires, UTC)))


def _address(text: str) -> str:
    """`text` percent-encoded where it is not. Raises ProblemError for what no client would ask for as written."""
    path, _, query = text.partition("?")
    try:
        segments = unquote_to_bytes(path).decode().split("/")
    except ValueError:
        segments = [".."]
    if not path.startswith("/") or any(s in (".", "..") for s in segments) or "\0" in path:
        raise _refused("it begins with /, is UTF-8 and has no segments of dots")
    if "#" in text or _BAD_ESCAPE.search(text):
        raise _refused("# and % of a name are written %23 and %25")
    if any(part.partition("=")[0] == PARAMETER for part in query.split("&")):
        raise _refused("it has a ticket already")
    return quote(text, safe=_KEPT)


def _refused(why: str) -> Exception:
    return request_invalid(
        f"path: {why}; for example /runs/<id>/artifacts/videos/1.mp4, below {PREFIX}."
    )
