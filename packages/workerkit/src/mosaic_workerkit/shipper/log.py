"""The shipper's log: JSON lines on stderr."""

import json
import sys
import time


def log_event(event: str, **fields: object) -> None:
    """Write one log line. A line that the disk refuses is lost, so that a full disk does not stop the shipper."""
    line = json.dumps({"event": event, "t": time.time(), **fields}, default=str)
    try:
        print(line, file=sys.stderr, flush=True)  # noqa: T201 - this is the log
    except OSError:
        return
