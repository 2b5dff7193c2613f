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
    broker_bind: str | None = None
    """Address that the broker listens on, with TLS; None: loopback, in the clear."""
    broker_runs_url: str | None = None
    """How runs reach the broker; None: as services do."""
