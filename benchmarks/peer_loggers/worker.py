"""MOSAIC's side: a worker whose train is the loop of `scalars`, with `Telemetry.metric`."""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from scalars import Ask, measure, wait_for

from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import Algorithm, CheckReport, Environment, WorkerDescription
from mosaic_workerkit.entry import TrainContext, main
from mosaic_workerkit.testing.synthetic import config_data

PARAMETERS: dict[str, Any] = {
    "scalars": {"type": "integer", "default": 200_000, "description": "Scalars."},
    "rate": {"type": "number", "default": 0, "description": "Scalars a second; 0: no limit."},
    "kill_at": {"type": "integer", "default": 0, "description": "SIGKILL after so many; 0: never."},
}


class ScalarWorker:
    """Logs scalars, nothing else."""

    def describe(self) -> WorkerDescription:
        """One algorithm without a real environment."""
        schema = {"type": "object", "properties": PARAMETERS, "additionalProperties": False}
        return WorkerDescription(
            worker="scalars",
            version="1",
            title="Scalars",
            record_levels=["metrics"],
            algorithms=[Algorithm(id="scalars", title="Scalars", parameters=schema)],
            environments=[Environment(id="None-v0")],
        )

    def check(self, spec: RunSpec) -> CheckReport:
        """Always possible."""
        return CheckReport(ok=True, findings=[], plan=dict(spec.parameters))

    def train(self, context: TrainContext) -> None:
        """The loop. What is durable is looked up in the store, from outside; until then its processes live."""
        asked = {name: schema["default"] for name, schema in PARAMETERS.items()}
        asked |= context.spec.parameters
        telemetry = context.telemetry
        telemetry.config(config_data(context.spec))

        def log(update: int, row: dict[str, float]) -> None:
            for name, value in row.items():
                telemetry.metric(name, update, value)

        measure(context.run_dir, Ask(**asked), log, lambda: None)
        wait_for(context.run_dir / "leave")


if __name__ == "__main__":
    sys.exit(main(ScalarWorker()))
