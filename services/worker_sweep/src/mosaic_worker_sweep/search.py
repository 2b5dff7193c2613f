"""Optuna's samplers and pruners as a sweep's spec names them."""

from collections.abc import Sequence

import numpy as np
from optuna.pruners import (
    BasePruner,
    HyperbandPruner,
    MedianPruner,
    NopPruner,
    SuccessiveHalvingPruner,
)
from optuna.samplers import (
    BaseSampler,
    CmaEsSampler,
    GridSampler,
    NSGAIISampler,
    RandomSampler,
    TPESampler,
)
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from mosaic_contracts.sweeps import Pruner, PrunerName, SamplerName, SweepSpec
from mosaic_worker_sweep.space import grid_of

_REPORTS = 20
"""Number of values that are reported of a trial, besides those at rungs."""
_FIRST_STEP = 1_000
"""Step of the first report of a trial whose number of steps is not known; each further one is at twice the step."""
_DOUBLINGS = 40
_WITH_RUNGS = (PrunerName.ASHA, PrunerName.HYPERBAND)


class BudgetedGrid(GridSampler):
    """Optuna's grid, which the sweep's budget ends."""

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """Do nothing: Optuna's own calls `Study.stop`, which only `Study.optimize` permits."""


def make_sampler(sweep: SweepSpec, seed: int, number: int) -> BaseSampler:
    """Return the sampler for one trial.

    Args:
        sweep: its spec.
        seed: of the whole sweep.
        number: of the trial. Its draws differ from those of every other trial, also after a restart.
    """
    own = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
    sampler = sweep.sampler
    if sampler.name is SamplerName.TPE:
        is_conditional = any(each.when is not None for each in sweep.parameters.values())
        return TPESampler(
            multivariate=True if is_conditional else None,  # None: Optuna decides
            group=is_conditional,
            n_startup_trials=sampler.startup_trials,
            seed=own,
            constant_liar=True,
        )
    if sampler.name is SamplerName.CMA_ES:
        return CmaEsSampler(
            n_startup_trials=sampler.startup_trials, warn_independent_sampling=False, seed=own
        )
    if sampler.name is SamplerName.GRID:
        return BudgetedGrid(grid_of(sweep.parameters), seed=seed)
    if sampler.name is SamplerName.NSGA2:
        return NSGAIISampler(population_size=sampler.population, seed=own)
    return RandomSampler(seed=own)


def make_pruner(pruner: Pruner, steps: int | None) -> BasePruner:
    """Return the pruner of a sweep whose trials take this number of steps."""
    first = first_step(pruner, steps)
    if pruner.name is PrunerName.MEDIAN:
        return MedianPruner(n_startup_trials=pruner.startup_trials, n_warmup_steps=first)
    if pruner.name is PrunerName.ASHA:
        return SuccessiveHalvingPruner(min_resource=first, reduction_factor=pruner.reduction)
    if pruner.name is PrunerName.HYPERBAND:
        return HyperbandPruner(
            min_resource=first,
            max_resource="auto" if steps is None else max(steps, first),
            reduction_factor=pruner.reduction,
        )
    return NopPruner()


def first_step(pruner: Pruner, steps: int | None) -> int:
    """The first step at which a trial can be pruned."""
    if pruner.min_steps is not None:
        return pruner.min_steps
    return _FIRST_STEP if steps is None else max(steps // 10, 1)


def report_steps(pruner: Pruner, steps: int | None) -> list[int]:
    """Steps at which a trial's value is reported: the same for all trials, so that they compare.

    These are some in equal distances, and the rungs of `asha` and `hyperband`.
    """
    first = first_step(pruner, steps)
    if steps is None:
        found = {first * 2**power for power in range(_DOUBLINGS)}
    else:
        found = {max(steps * part // _REPORTS, 1) for part in range(1, _REPORTS + 1)} | {first}
    last = max(found) if steps is None else steps
    if pruner.name in _WITH_RUNGS:
        found.update(_rungs(pruner, first, last))
    return sorted(step for step in found if step <= last)


def pruning_steps(pruner: Pruner, steps: int | None) -> frozenset[int]:
    """Those of `report_steps` at which the pruner decides."""
    if pruner.name is PrunerName.NONE:
        return frozenset()
    reports, first = report_steps(pruner, steps), first_step(pruner, steps)
    if pruner.name in _WITH_RUNGS:
        return frozenset(_rungs(pruner, first, reports[-1]))
    return frozenset(step for step in reports if step >= first)


def _rungs(pruner: Pruner, first: int, last: int) -> list[int]:
    found = []
    while first <= last:
        found.append(first)
        first *= pruner.reduction
    return found
