"""Typed client of a MOSAIC stack: `with connect() as mosaic: mosaic.submit(spec)`."""

from mosaic_client.async_client import AsyncClient, connect_async
from mosaic_client.call import LogPart, Readiness
from mosaic_client.client import Client, connect
from mosaic_client.errors import (
    AnswerInvalid,
    ClientError,
    MosaicProblem,
    StackUnreachable,
    TokenUnreadable,
)
from mosaic_client.live import ConnectionLost, LiveItem
from mosaic_client.location import Location, data_root, find_stack, read_stack_file

__all__ = [
    "AnswerInvalid",
    "AsyncClient",
    "Client",
    "ClientError",
    "ConnectionLost",
    "LiveItem",
    "Location",
    "LogPart",
    "MosaicProblem",
    "Readiness",
    "StackUnreachable",
    "TokenUnreadable",
    "connect",
    "connect_async",
    "data_root",
    "find_stack",
    "read_stack_file",
]
