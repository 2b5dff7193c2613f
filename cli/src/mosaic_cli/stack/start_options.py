"""Options for a start of the stack, and how a detached supervisor refuses one."""

from typing import NamedTuple

EXIT_ALREADY_UP = 75
EXIT_CANNOT = 6
STACK_REFUSED = "stack.refused"
"""Event of the line on stderr that says why there is no stack."""


class StartOptions(NamedTuple):
    """What a person may choose at `up`."""

    port: int | None = None
    broker_port: int | None = None
