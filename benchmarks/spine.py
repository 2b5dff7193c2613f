"""The spine's targets as ratios within one run, on the real processes.

    var/venvs/tests/bin/python benchmarks/spine.py [rate] [live] [stalled] [outage] [--rounds N] [--away S] [--rate N]

A stack is started by its supervisor in a folder of its own; the worker is the synthetic one of workerkit, whose events
are made by a formula, 88 % steps. The machine's cores are shared by everything named here.

rate     Rounds of three ways with the same events, made by the same formula in the same interpreter: worker -> outbox
         -> shipper -> JetStream -> recorder -> committed in SQLite (from the first event's clock to the poll, every
         20 ms, that finds the last one in the store); nats-py core publish of one JSON message an event, no stream,
         up to its flush; nats-py publish_async with a window of 256 into a file stream, up to the last
         acknowledgement. The peers use a broker of their own, the same binary. Medians, ratio of medians; and the
         same with the formula's own time (measured in the same round) taken off both sides.
live     A msgpack client on the WebSocket follows a run at 120,000 events/s with every step; latency is from the
         worker's clock in the event to the decoded frame, p99 over all events after the first 3 s, over 50 ms.
stalled  Four clients follow a run at 20,000 events/s, in turns alone and with a fifth that never reads; events a
         second that each of the four decoded, the worst of them with the fifth over without.
outage   The broker is killed (SIGKILL) and kept away for 20 s (`--away`) under 60,000 events/s (`--rate`); the time
         from its return until what is in the store is less than 1 s old, over the 20 s. It fails when an event is lost.

One JSON object a line on stdout. Paced figures come with the rate that the worker really reached.
"""

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

import spine_live
import spine_outage
import spine_rate
from warm_stack import warm_stack

PARTS: dict[str, Callable[..., dict[str, Any]]] = {
    "rate": spine_rate.measure,
    "live": spine_live.measure_latency,
    "stalled": spine_live.measure_stalled,
    "outage": spine_outage.measure,
}


def main() -> None:
    """Measure the named parts on one stack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", default=[])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--away", type=float, default=spine_outage.AWAY_S, help="seconds, of outage"
    )
    parser.add_argument("--rate", type=int, default=spine_outage.RATE, help="events/s, of outage")
    options = parser.parse_args()
    if unknown := [part for part in options.parts if part not in PARTS]:
        parser.error(f"unknown part {unknown[0]!r}; there are {', '.join(PARTS)}")
    with warm_stack() as stack:
        for part in options.parts or PARTS:
            print(f"{part} ...", file=sys.stderr)
            more = (options.away, options.rate) if part == "outage" else ()
            result = PARTS[part](stack, options.rounds, *more)
            print(json.dumps({"part": part, **result}), flush=True)


if __name__ == "__main__":
    main()
