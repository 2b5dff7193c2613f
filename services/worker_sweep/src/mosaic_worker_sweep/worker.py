"""The worker as its entry point knows it. Optuna is imported only by a sweep itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.sweeps import (
    SWEEP_ALGORITHM,
    SWEEP_WORKER,
    Choice,
    SamplerName,
    SweepSpec,
)
from mosaic_contracts.worker import Algorithm
from mosaic_worker_sweep import VERSION
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.errors import RunRefused
from mosaic_workerkit.findings import Findings
from mosaic_workerkit.parameters import parameter_schema
from mosaic_workerkit.worker import BaseWorker


@dataclass(frozen=True)
class SweepParameters:
    """A sweep has no parameters of this kind: `RunSpec.sweep` says all."""


OPTUNA = Algorithm(
    id=SWEEP_ALGORITHM,
    title="Optuna",
    summary="Optuna chooses the parameters of trials; each trial is a run, or one for each environment and seed.",
    parameters=parameter_schema(SweepParameters),
)


class SweepWorker(BaseWorker):
    """Sweeps."""

    id, version, title = SWEEP_WORKER, VERSION, "Sweeps"
    summary = "Searches good parameters for the runs of any other worker."
    algorithms = (OPTUNA,)
    packages = ("optuna", "cmaes", "scikit-learn", "numpy")

    def train(self, context: TrainContext) -> None:
        """Refuse: trials train, not the sweep."""
        raise RunRefused("This worker runs sweeps; nothing is trained in it.")

    def sweep(self, context: TrainContext) -> None:
        """Choose parameters until the sweep's budget is spent or it is stopped."""
        from mosaic_worker_sweep.loop import run_sweep

        self.arguments(context.spec, SweepParameters)
        run_sweep(context)

    def check_more(self, spec: RunSpec, arguments: Mapping[str, Any], findings: Findings) -> None:
        """Check what the sweep's own model does not."""
        if spec.sweep is None:
            words = "A run of kind sweep needs the field `sweep`: what it searches."
            findings.block("sweep", words, ProblemCode.SPEC_INVALID)
            return
        _check_sampler(spec.sweep, findings)
        both = sorted(set(spec.sweep.parameters) & set(spec.sweep.run.get("parameters") or {}))
        for name in both:
            words = f"{name} is searched, so `run.parameters` must not set it."
            findings.block(f"sweep.parameters.{name}", words, ProblemCode.SPEC_INVALID)

    def _modes(self) -> list[str]:
        return ["sweep"]


def _check_sampler(sweep: SweepSpec, findings: Findings) -> None:
    if sweep.sampler.name is SamplerName.GRID:
        partial = [each for each in sweep.start_with if set(each) != set(sweep.parameters)]
        if partial:
            words = "With sampler grid each entry of start_with must name every parameter."
            findings.block("sweep.start_with", words, ProblemCode.SPEC_INVALID)
    if sweep.sampler.name is SamplerName.CMA_ES:
        numbers = [
            name
            for name, dimension in sweep.parameters.items()
            if not isinstance(dimension, Choice) and dimension.when is None
        ]
        if len(numbers) < 2:
            words = (
                "Sampler cmaes needs two parameters that are numbers without a condition; use tpe."
            )
            findings.block("sweep.sampler.name", words, ProblemCode.SPEC_INVALID)
        elif len(numbers) < len(sweep.parameters):
            words = "Sampler cmaes searches numbers without a condition; other parameters are drawn at random."
            findings.warn("sweep.sampler.name", words)
