"""The synthetic worker with longer breaths: 20 bursts a second, so that 100 of them leave the machine to the spine.

With `names` it reports that many metrics at each step, in place of the synthetic worker's events.
"""

import sys
import time

from mosaic_contracts.worker import WorkerDescription
from mosaic_workerkit.entry import TrainContext, main
from mosaic_workerkit.telemetry import Telemetry
from mosaic_workerkit.testing.synthetic import Formula, SyntheticWorker

BURST_S = 0.05


class PacedWorker(SyntheticWorker):
    """Makes the synthetic worker's events at its parameter `rate` until it is stopped."""

    def describe(self) -> WorkerDescription:
        """As the synthetic one, under another name and with one more parameter."""
        described = super().describe().model_copy(update={"worker": "paced"}, deep=True)
        described.algorithms[0].parameters["properties"]["names"] = {"type": "number", "default": 0}
        return described

    def train(self, context: TrainContext) -> None:
        """Tell what is due, and breathe."""
        telemetry, formula = context.telemetry, Formula(context.spec)
        rate = float(str(context.spec.parameters["rate"]))
        names = int(float(str(context.spec.parameters.get("names", 0))))
        began = time.monotonic()
        while not context.stop.requested:
            due = 2 + int((time.monotonic() - began + BURST_S) * rate)  # after its first two events
            while telemetry.next_seq <= due:
                if names and telemetry.next_seq > 2:
                    _report_metrics(telemetry, names)
                else:
                    formula.write(telemetry, due)
            time.sleep(BURST_S)  # the pace that was asked for


def _report_metrics(telemetry: Telemetry, names: int) -> None:
    step = telemetry.next_seq // names
    for n in range(names):
        telemetry.metric(f"losses/m{n}", step, (step * 7919 + n) % 1000 / 7.0)


if __name__ == "__main__":
    sys.exit(main(PacedWorker()))
