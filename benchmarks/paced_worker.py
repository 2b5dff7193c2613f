"""The synthetic worker with longer breaths: 20 bursts a second, so that 100 of them leave the machine to the spine."""

import sys
import time

from mosaic_contracts.worker import WorkerDescription
from mosaic_workerkit.entry import TrainContext, main
from mosaic_workerkit.testing.synthetic import Formula, SyntheticWorker

BURST_S = 0.05


class PacedWorker(SyntheticWorker):
    """Makes the synthetic worker's events at its parameter `rate` until it is stopped."""

    def describe(self) -> WorkerDescription:
        """As the synthetic one, under another name."""
        return super().describe().model_copy(update={"worker": "paced"})

    def train(self, context: TrainContext) -> None:
        """Tell what is due, and breathe."""
        telemetry, formula = context.telemetry, Formula(context.spec)
        rate = float(str(context.spec.parameters["rate"]))
        began = time.monotonic()
        while not context.stop.requested:
            due = 2 + int((time.monotonic() - began + BURST_S) * rate)  # after its first two events
            while telemetry.next_seq <= due:
                formula.write(telemetry, due)
            time.sleep(BURST_S)  # the pace that was asked for


if __name__ == "__main__":
    sys.exit(main(PacedWorker()))
