"""Tell addresses of this machine from those of others."""

import socket
from collections.abc import Iterable
from typing import Any


def first_elsewhere(names: Iterable[str]) -> str:
    """Return the first host name or address that is another machine's; empty: none is.

    A name that nobody knows is another machine's. Names are looked up, which may take seconds.
    """
    return next((name for name in names if not _is_here(name)), "")


def _is_here(name: str) -> bool:
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_DGRAM)
    except OSError:
        return False
    return any(_can_bind(family, address) for family, _, _, _, address in found)


def _can_bind(family: int, address: tuple[Any, ...]) -> bool:
    """Only an address of this machine can be bound to."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind(address)
    except OSError:
        return False
    return True
