"""How often the interval of a mean holds the true mean, by the number of samples (docs/compare.md#too-few-seeds).

var/venvs/analysis/bin/python benchmarks/interval_coverage.py [TRIALS]
"""

import sys

import numpy as np

from mosaic_analysis import estimators
from mosaic_analysis.intervals import estimate_each
from mosaic_contracts.comparisons import ResamplingFacts

COUNTS = (3, 5, 10, 15, 20, 50)
TRIALS = 5_000


def main() -> None:
    """Draw normal returns with the mean 0, and count the intervals that hold it."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS
    draws = np.random.default_rng(1)
    for count in COUNTS:
        held = sum(_holds(draws.standard_normal(count), trial) for trial in range(trials))
        print(
            f"{count:>3} samples: {100 * held / trials:.1f} % of {trials:,} intervals hold the mean"
        )


def _holds(returns: estimators.Floats, seed: int) -> bool:
    """Whether the interval of one comparison's mean holds 0."""
    facts = ResamplingFacts(seed=seed)
    (found,) = estimate_each(estimators.mean, returns[np.newaxis], resampling=facts)
    return found.low is not None and found.high is not None and found.low <= 0 <= found.high


if __name__ == "__main__":
    main()
