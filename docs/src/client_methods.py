"""Methods of the client that are made at run time, as the reference finds methods."""

from types import FunctionType

from mosaic_client.async_client import AsyncClient
from mosaic_client.stack_requests import StackRequests


def name_methods() -> None:
    """Give each method the qualified name of a method: the reference leaves out what seems to be defined elsewhere."""
    for client in (StackRequests, AsyncClient):
        for name, method in vars(client).items():
            if isinstance(method, FunctionType) and "<locals>" in method.__qualname__:
                method.__qualname__ = f"{client.__qualname__}.{name}"
