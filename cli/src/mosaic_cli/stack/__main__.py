"""The detached supervisor: `python -m mosaic_cli.stack [--port P] [--broker-port P]`.

Started by `up -d` and by `demo`, which reads the one line that this prints when it cannot start.
"""

import argparse
import json
import sys

from mosaic_cli.errors import StackAlreadyUp, StackStartProblem
from mosaic_cli.stack.layout import Layout
from mosaic_cli.stack.start_options import (
    EXIT_ALREADY_UP,
    EXIT_CANNOT,
    STACK_REFUSED,
    StartOptions,
)
from mosaic_cli.stack.supervisor import supervise


def main() -> int:
    """Supervise; an expected fault goes to stderr as one JSON line."""
    parser = argparse.ArgumentParser(prog="python -m mosaic_cli.stack")
    parser.add_argument("--port", type=int)
    parser.add_argument("--broker-port", type=int)
    chosen = parser.parse_args()
    options = StartOptions(port=chosen.port, broker_port=chosen.broker_port)
    try:
        supervise(Layout.of_environment(), options)
    except StackStartProblem as error:
        print(json.dumps({"event": STACK_REFUSED, "message": str(error)}), file=sys.stderr)
        return EXIT_ALREADY_UP if isinstance(error, StackAlreadyUp) else EXIT_CANNOT
    return 0


if __name__ == "__main__":
    sys.exit(main())
