"""Tickets: a signature in the query that opens one address to GET until it expires.

For what cannot send the bearer token: a browser's address line, a video player, TensorBoard. The signature covers
method, path, query and expiry, so that a ticket is good for nothing else.
"""

import hashlib
import hmac
from typing import NamedTuple
from urllib.parse import unquote

PARAMETER = "ticket"
_CONTEXT = "mosaic ticket v1"


class Ticketed(NamedTuple):
    """A query with a ticket, taken apart."""

    query: str
    """What was before the ticket, as it was written."""
    expires: int
    """Seconds since the epoch."""
    signature: str


def sign(key: bytes, path: str, query: str, expires: int) -> str:
    """Signature of GET on `path` (decoded) and `query` (as written) until `expires`."""
    text = "\0".join((_CONTEXT, "GET", path, query, str(expires)))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def with_ticket(key: bytes, address: str, expires: int) -> str:
    """`address` (path and query, percent-encoded) with its ticket."""
    path, _, query = address.partition("?")
    ticket = f"{PARAMETER}={expires}.{sign(key, unquote(path), query, expires)}"
    return f"{path}?{query}&{ticket}" if query else f"{path}?{ticket}"


def take_apart(query: str) -> Ticketed | None:
    """The ticket of a query; None when its last parameter is none."""
    rest, _, last = query.rpartition("&")
    name, _, value = last.partition("=")
    if name != PARAMETER:
        return None
    expires, _, signature = value.partition(".")
    if not (expires.isascii() and expires.isdigit() and len(expires) < 13):
        return Ticketed(rest, 0, "")
    return Ticketed(rest, int(expires), signature)


def is_good(key: bytes, path: str, ticket: Ticketed, now: float) -> bool:
    """Whether `ticket` opens `path` (decoded) at `now`, seconds since the epoch."""
    expected = sign(key, path, ticket.query, ticket.expires)
    is_ours = hmac.compare_digest(expected.encode(), ticket.signature.encode(errors="replace"))
    return is_ours and now < ticket.expires
