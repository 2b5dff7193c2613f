"""A trainer that knows nothing of MOSAIC: it only prints. Run it by itself, or as a run through mosaic-pipe."""

import argparse
import json
import random
import signal
import sys
from pathlib import Path

GOAL, LIMIT = 8, 60


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--learning-rate", type=float, default=0.1)
    options = parser.parse_args()
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: stopped.append(number))

    dice = random.Random(options.seed)
    value = [[0.0, 0.0] for _ in range(GOAL + 1)]  # of going left and right, at each place
    step = 0
    print("walking")
    while step < options.steps and not stopped:
        place, length = 0, 0
        while place < GOAL and length < LIMIT:
            tries = dice.random() < 0.1 or value[place][0] == value[place][1]
            action = dice.randrange(2) if tries else int(value[place][1] > value[place][0])
            after = max(0, place + (1 if action else -1))
            target = -1 + (0.0 if after == GOAL else max(value[after]))
            value[place][action] += options.learning_rate * (target - value[place][action])
            place, length, step = after, length + 1, step + 1
        print(
            json.dumps({"global_step": step, "episodic_return": -length, "episodic_length": length})
        )

    Path("walk.json").write_text(json.dumps(value))
    reason = "stop" if stopped else "final"
    print(json.dumps({"type": "checkpoint", "path": "walk.json", "step": step, "reason": reason}))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
