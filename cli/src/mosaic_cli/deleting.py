"""What the deletion of runs frees, in words."""

import time

from mosaic_cli.wording import size
from mosaic_client import light, reading
from mosaic_client.errors import RunUnknown
from mosaic_client.stack_connection import StackConnection

_DELETION_S = 30.0
"""Seconds for which `rm --now` waits for the deletion: that of a run with millions of steps takes seconds."""
_ASK_AGAIN_S = 0.2
_KINDS_NAMED = 4


def hidden_text(report: light.DeletionFields) -> str:
    """What `rm` did with a run."""
    return (
        f"{report.run_id} is deleted. In a day this frees {bytes_text(report)}; until then "
        f"`./mosaic restore {report.run_id}` brings it back."
    )


def deleted_text(stack: StackConnection, report: light.DeletionFields) -> str:
    """Wait until the run is gone, and say what that freed."""
    freed = _wait_until_gone(stack, report.run_id)
    if freed is None:
        return (
            f"{report.run_id} is being deleted, with files and events: {bytes_text(report)}. The stack completes it; "
            "`./mosaic status` says what holds it up."
        )
    return f"{report.run_id} is deleted, with files and events: {size(freed)} are free again."


def _wait_until_gone(stack: StackConnection, run_id: str) -> int | None:
    """Bytes that a deletion freed; None: it takes long."""
    until = time.monotonic() + _DELETION_S
    while time.monotonic() < until:
        try:
            report = reading.deletion(stack, run_id)
        except RunUnknown:
            return None  # the scheduler was restarted meanwhile
        if report.state == "gone":
            return report.freed_bytes
        time.sleep(_ASK_AGAIN_S)
    return None


def bytes_text(report: light.DeletionFields) -> str:
    """Bytes of a run, with the largest kinds."""
    kinds = sorted(report.bytes_by_kind.items(), key=lambda item: -item[1])[:_KINDS_NAMED]
    parts = [f"{kind} {size(count)}" for kind, count in kinds]
    if not report.is_store_known:
        parts.append("and its events, of which the recorder does not answer now")
    return size(report.freed_bytes) + (f" ({', '.join(parts)})" if parts else "")
