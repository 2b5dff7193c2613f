"""Which stack this process talks to: that of this data root, or one that was named."""

import os
from typing import TYPE_CHECKING

from mosaic_client.location import find_stack
from mosaic_client.stack_connection import StackConnection, open_connection

if TYPE_CHECKING:
    from mosaic_client import Client

_ELSEWHERE = ("MOSAIC_URL", "MOSAIC_TOKEN_FILE", "MOSAIC_CA_FILE")


def is_elsewhere() -> bool:
    """Whether the verbs talk to a stack that a person named, and not to the one of this data root."""
    return bool(os.environ.get("MOSAIC_URL"))


def elsewhere_url() -> str:
    """The address that a person named; empty when it is the stack of this data root."""
    return os.environ.get("MOSAIC_URL", "")


def open_stack() -> StackConnection:
    """A connection for `mosaic_client.reading`: enough for verbs that look, and much faster to import.

    Raises:
        StackUnreachable: there is none.
        TokenUnreadable: its token cannot be read.
    """
    return open_connection()


def open_client() -> "Client":
    """A client with every request and the contract's models, imported when it is asked for.

    Raises:
        StackUnreachable: there is none.
        TokenUnreadable: its token cannot be read.
    """
    from mosaic_client.client import connect

    return connect()


def connection_here() -> StackConnection:
    """A connection to the stack of this data root, whatever else was named.

    Raises:
        StackUnreachable: there is none.
        TokenUnreadable: its token cannot be read.
    """
    return StackConnection(find_stack({k: v for k, v in os.environ.items() if k not in _ELSEWHERE}))
