"""The shipper's log: JSON lines on stderr."""

import json
import sys
import time


def log_event(event: str, **fields: object) -> None:
    """One line. A full disk must not stop the shipping that frees it, so a refused line is gone."""
    line = json.dumps({"event": event, "t": time.time(), **fields}, default=str)
    try:
        print(line, file=sys.stderr, flush=True)  # noqa: T201 - this is the log
    except OSError:
        return
